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

// Some of its tests need symbolic links.
#[cfg(unix)]
mod approval;
// Some of its tests need symbolic links, modes and archivers of Unix.
#[cfg(unix)]
mod archive;
mod cli;
// It needs processes under the confinement of Linux.
#[cfg(unix)]
mod commands;
// It needs containers.
#[cfg(unix)]
mod container;
// It needs symbolic links, and `openat2` of Linux.
#[cfg(unix)]
mod escapes;
// Some of its tests need symbolic links and modes.
#[cfg(unix)]
mod events;
// It needs `/proc`, and names and depths that only Linux has.
#[cfg(unix)]
mod extremes;
mod fixture;
// It needs FIFOs.
#[cfg(unix)]
mod hang;
// It needs symbolic links, FIFOs, sockets, and names that are not UTF-8.
#[cfg(unix)]
mod hostile;
// It reads the source files, which are the same on Linux.
#[cfg(unix)]
mod import_graph;
mod imports;
// It needs stamps of files, which only Linux has.
#[cfg(target_os = "linux")]
mod index;
mod library;
mod limits;
mod mcp;
mod memory;
// It needs modes, owners and extended attributes.
#[cfg(unix)]
mod mode;
// It needs symbolic links, FIFOs and modes.
#[cfg(unix)]
mod overlay;
// Some of its tests need symbolic links and FIFOs.
#[cfg(unix)]
mod policy;
mod programs;
// It reads the pages and runs their commands in a shell.
#[cfg(unix)]
mod readme;
// Some of its tests need symbolic links and FIFOs.
#[cfg(unix)]
mod restore;
// Some of its tests need symbolic links and commands.
#[cfg(unix)]
mod seeds;
// The server is a module for Linux.
#[cfg(target_os = "linux")]
mod serve;
// It needs symbolic links and modes.
#[cfg(unix)]
mod snapshots;
// It needs symbolic links, modes and programs of Unix.
#[cfg(unix)]
mod transactions;
// Only modules that are skipped use it.
#[cfg(unix)]
mod tree;
// It needs signals and mounts.
#[cfg(unix)]
mod updates;
#[cfg(windows)]
mod windows;
// Only modules that are skipped use it.
#[cfg(target_os = "linux")]
mod without;
