//! Comparisons with other programs: searches with ripgrep, patches with `git apply` and `patch`.
//!
//! `PADDOCK_COMPARISONS=10000 cargo test --release -p paddock-guest --test differential -- --nocapture` runs that many
//! comparisons of each kind. If a program is not installed, the test names it and skips its comparisons.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod grep;
mod patch;
mod support;
#[path = "../tree/mod.rs"]
mod tree;
