//! Protocol between the host and the supervisor of a command: messages and their framing.
//!
//! The supervisor itself is the binary of this package, on Linux only. It is started once for a command, with one end of a
//! stream socket as its standard input, runs the command confined, does its file system calls for it, ends
//! whatever is left of it, and tells what changed.

pub mod protocol;
#[cfg(target_os = "linux")]
pub mod wire;
