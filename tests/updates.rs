//! No change is lost: processes that edit the same files at once, and processes that are killed while they do.
//!
//! `PADDOCK_UPDATES=10000 PADDOCK_KILLS=5000 cargo test --release --test updates -- --nocapture` is the long form.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]
#![cfg(target_os = "linux")]

mod updates {
    mod client;
    mod edits;
    mod full;
    mod kills;
}
