//! File descriptors of the process.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Maximum number of descriptors that an open workspace holds: its root, and the directories on the paths of its private
/// files, each twice. A private file behind symbolic links takes more.
const OF_WORKSPACE: u64 = 48;

/// Returns the number of workspaces that can be open at the same time. Connections and running calls have the other half of
/// the descriptors that the process may open.
pub(super) fn max_workspaces() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit / 2 / OF_WORKSPACE).unwrap_or(usize::MAX).max(1)
}

/// Returns whether the process, or the system, has too many open files.
pub(super) fn are_used_up(cause: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| cause.raw_os_error() == Some(errno.raw_os_error()))
}
