//! The tests of the library, the command line and the MCP server, as one program, since each program links the runtime.
//! Tests run as threads of it, so none changes the environment, the current directory or a limit of the process: a test
//! that needs another starts a child process.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]

mod approval;
mod archive;
mod cli;
mod commands;
mod container;
mod escapes;
mod events;
mod extremes;
mod fixture;
mod hang;
mod hostile;
mod import_graph;
mod imports;
mod library;
mod limits;
mod mcp;
mod memory;
mod mode;
mod overlay;
mod policy;
mod programs;
mod readme;
mod restore;
mod seeds;
mod transactions;
mod tree;
mod updates;
#[cfg(target_os = "linux")]
mod without;
