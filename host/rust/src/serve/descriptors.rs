//! File descriptors of the process.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Maximum number of descriptors that an open workspace holds in addition to those that it shares with others: its root,
/// its state directory, and its private files. A private file behind symbolic links takes more.
const OF_WORKSPACE: u64 = 8;

/// Returns the number of workspaces that can be open at the same time: they have half of the descriptors that the process
/// may open.
pub(super) fn max_workspaces() -> usize {
    share(2)
}

/// Returns the number of sessions that can exist at the same time: their workspaces, which stay open, have a quarter of the
/// descriptors. Connections and running calls have the rest.
pub(super) fn max_sessions() -> usize {
    share(4)
}

fn share(divisor: u64) -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit / divisor / OF_WORKSPACE).unwrap_or(usize::MAX).max(1)
}

/// Returns whether the process, or the system, has too many open files.
pub(super) fn are_used_up(cause: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| cause.raw_os_error() == Some(errno.raw_os_error()))
}
