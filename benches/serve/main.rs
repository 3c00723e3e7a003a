//! `paddock serve` beside the same calls over a pipe, and under load: clients and server on one machine.
//!
//! `cargo bench --profile dist -p paddock-files --bench serve` prints one line for each figure; with names as arguments, of
//! these only: `pipe`, `clients`, `idle`, `flood`, `peers`. The last one needs Node, npm and Python 3.11, and installs other
//! programs below `target`. `PADDOCK` names another binary with the feature `serve`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a bench")]

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: the server runs on Linux");
}

#[cfg(target_os = "linux")]
mod linux;
