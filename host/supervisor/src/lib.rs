//! Protocol between the host and the supervisor of a command: messages and their framing.
//!
//! The supervisor itself is the binary of this package, on Linux only. The host starts one supervisor per command, with
//! one end of a stream socket as its standard input. The supervisor runs the command confined, makes its file system
//! calls for it, kills the processes that the command leaves behind, and reports what changed.

pub mod protocol;
#[cfg(target_os = "linux")]
pub mod wire;
