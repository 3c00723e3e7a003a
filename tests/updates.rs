//! No change is lost: processes that edit the same files at once, and processes that are killed while they do.
//!
//! `PADDOCK_UPDATES=10000 PADDOCK_KILLS=5000 cargo test --release --test integration updates:: -- --nocapture` is the long form.

#![cfg(target_os = "linux")]

mod client;
mod edits;
mod full;
mod kills;
