//! The supervisor: runs one command confined, makes its file system calls for it, kills the processes that it leaves
//! behind, and reports what changed. `README.md` lists which mechanism confines what; `paddock_supervisor::protocol`
//! defines the messages to and from the host.

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
mod git_files;
#[cfg(target_os = "linux")]
mod git_index;
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
mod sent_descriptors;
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

/// Exits with 0 if the host received the whole report, with 1 if the host is gone or sent an invalid message.
#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    reaper::run(setup::run).unwrap_or(ExitCode::FAILURE)
}

/// Exits with 1: commands are confined on Linux only.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
