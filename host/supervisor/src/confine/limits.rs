//! Resource limits and capabilities of a process.

use paddock_supervisor::protocol::Limits;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::watch::THREADS_EACH;

/// Sets this process's resource limits; a limit that is already lower stays.
pub(crate) fn set(limits: &Limits) -> Result<(), Errno> {
    leave_no_core()?;
    lower(Resource::Data, limits.max_memory_bytes)?;
    lower(Resource::Fsize, limits.max_file_bytes)?;
    lower(Resource::Nofile, limits.max_open_files)?;
    // The kernel counts all tasks of the user, so that only a fork bomb reaches this limit; it does not apply to the
    // superuser.
    if rustix::process::getuid().is_root() {
        return Ok(());
    }
    lower(Resource::Nproc, tasks().saturating_add(limits.max_processes.saturating_mul(THREADS_EACH)))
}

/// Returns the number of tasks in the system, or `u64::MAX` if it is unknown.
fn tasks() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = load.split_whitespace().nth(3).and_then(|it| it.split('/').nth(1)?.parse().ok());
    tasks.unwrap_or(u64::MAX)
}

fn lower(resource: Resource, limit: u64) -> Result<(), Errno> {
    let maximum = getrlimit(resource).maximum.map_or(limit, |it| it.min(limit));
    setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })
}

/// Limits core dumps of this process to 1 byte, so that none is written. If the kernel passes dumps to a program, it
/// ignores every limit except this one. A hard limit of 0 cannot be raised without privilege; such a program still gets the dumps
/// there.
pub(crate) fn leave_no_core() -> Result<(), Errno> {
    lower(Resource::Core, 1)
}

/// Drops all capabilities, irrevocably, except the two that the superuser needs for ordinary work on files.
///
/// The supervisor and the command keep the same capabilities, so that a call of the supervisor for the command fails
/// where the command's own call would fail.
pub(crate) fn drop_capabilities() -> Result<(), Errno> {
    let needed = CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER;
    let now = rustix::thread::capabilities(None)?;
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for dropped in CapabilitySet::all().difference(needed).iter() {
            match rustix::thread::remove_capability_from_bounding_set(dropped) {
                // This kernel does not know the capability.
                Ok(()) | Err(Errno::INVAL) => {}
                Err(error) => return Err(error),
            }
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let needed = now.permitted & needed;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: needed, permitted: needed, inheritable: none })
}
