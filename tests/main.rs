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

#[cfg(unix)]
mod approval;
#[cfg(unix)]
mod archive;
mod cli;
#[cfg(unix)]
mod commands;
#[cfg(unix)]
mod container;
#[cfg(unix)]
mod escapes;
#[cfg(unix)]
mod events;
#[cfg(unix)]
mod extremes;
mod fixture;
#[cfg(unix)]
mod hang;
#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod import_graph;
mod imports;
mod library;
mod limits;
mod mcp;
mod memory;
#[cfg(unix)]
mod mode;
#[cfg(unix)]
mod overlay;
#[cfg(unix)]
mod policy;
mod programs;
#[cfg(unix)]
mod readme;
#[cfg(unix)]
mod restore;
#[cfg(unix)]
mod seeds;
#[cfg(all(target_os = "linux", feature = "serve"))]
mod serve;
#[cfg(unix)]
mod transactions;
#[cfg(unix)]
mod tree;
#[cfg(unix)]
mod updates;
#[cfg(windows)]
mod windows;
#[cfg(target_os = "linux")]
mod without;
