//! No change is lost when processes edit the same files at the same time, or are killed during an edit.
//!
//! `PADDOCK_UPDATES=10000 PADDOCK_KILLS=5000 cargo test --release --test integration updates:: -- --nocapture` is the long form.

#![cfg(target_os = "linux")]

mod client;
mod edits;
mod full;
mod kills;
