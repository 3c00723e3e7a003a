//! Tests that must run without other tests: they measure time, use all processors, or exhaust a limit of the process.
//! Each holds [`alone`], and `cargo test` runs one test program at a time.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

mod deletes;
#[cfg(target_os = "linux")]
mod memory;
mod partitions;
#[cfg(target_os = "linux")]
mod races;
#[cfg(target_os = "linux")]
#[path = "../without/mod.rs"]
mod without;

/// Waits until no other test runs.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
