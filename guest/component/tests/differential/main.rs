//! The same work by other programs: searches by ripgrep, patches by `git apply` and `patch`.
//!
//! `PADDOCK_COMPARISONS=10000 cargo test --release -p paddock-guest --test differential -- --nocapture` makes so many of
//! each. A program that is not there is named, and its comparisons are left out.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod grep;
mod patch;
mod support;
#[path = "../tree/mod.rs"]
mod tree;
