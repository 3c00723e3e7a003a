//! The supervisor: runs one command confined, does its file system calls for it, ends whatever is left of it, and tells
//! what changed. `README.md` says what is confined by what; `paddock_supervisor::protocol` is how it is spoken to.

#[cfg(target_os = "linux")]
mod access_control;
#[cfg(target_os = "linux")]
mod caller;
#[cfg(target_os = "linux")]
mod changes;
#[cfg(target_os = "linux")]
mod climb;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod host_channel;
#[cfg(target_os = "linux")]
mod notify;
#[cfg(target_os = "linux")]
mod path_class;
#[cfg(target_os = "linux")]
mod pending;
#[cfg(target_os = "linux")]
mod reaper;
#[cfg(target_os = "linux")]
mod request;
#[cfg(target_os = "linux")]
mod requested_path;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod setup;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod watch;

use std::process::ExitCode;

/// 0 where all was said to the host, 1 where it is gone or says what cannot be understood.
#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    reaper::run(setup::run).unwrap_or(ExitCode::FAILURE)
}

/// Commands are confined on Linux only.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
