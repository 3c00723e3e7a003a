//! Fuzz targets. Each target takes arbitrary bytes and panics if an invariant does not hold.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a target fails by a panic"
)]

mod arguments;
mod encodings;
mod fixture;
mod globs;
mod ignore;
mod model;
mod patches;
mod paths;
mod policies;
#[path = "../../../guest/component/tests/tree/mod.rs"]
mod tree;

/// A target.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 9] = [
    ("arguments", arguments::fuzz),
    ("encodings", encodings::fuzz),
    ("globs", globs::fuzz),
    ("ignore", ignore::fuzz),
    ("model", model::fuzz),
    ("patch", patches::fuzz_patch),
    ("unified", patches::fuzz_unified),
    ("paths", paths::fuzz),
    ("policies", policies::fuzz),
];

/// Runs the target of that name.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| target);
    target.expect("a target of that name")(bytes);
}
