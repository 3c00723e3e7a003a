//! Resource limits and capabilities of a process.

use paddock_supervisor::protocol::Limits;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::watch::THREADS_EACH;

/// Sets this process's limits; what is lower already stays.
pub(crate) fn set(limits: &Limits) -> Result<(), Errno> {
    leave_no_core()?;
    lower(Resource::Data, limits.max_memory_bytes)?;
    lower(Resource::Fsize, limits.max_file_bytes)?;
    lower(Resource::Nofile, limits.max_open_files)?;
    // Of all tasks of the user, so that only a fork bomb meets it; the superuser does not.
    if rustix::process::getuid().is_root() {
        return Ok(());
    }
    lower(Resource::Nproc, tasks().saturating_add(limits.max_processes.saturating_mul(THREADS_EACH)))
}

/// How many tasks the system has; more than any that the user can have where that cannot be known.
fn tasks() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = load.split_whitespace().nth(3).and_then(|it| it.split('/').nth(1)?.parse().ok());
    tasks.unwrap_or(u64::MAX)
}

fn lower(resource: Resource, limit: u64) -> Result<(), Errno> {
    let maximum = getrlimit(resource).maximum.map_or(limit, |it| it.min(limit));
    setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })
}

/// No memory image of this process is written anywhere. To a program that takes such images the kernel gives them
/// whatever the limit is, but for this one.
pub(crate) fn leave_no_core() -> Result<(), Errno> {
    lower(Resource::Core, 1)
}

/// Gives up, for good, all but the two that ordinary work of the superuser on files needs.
///
/// Supervisor and command keep the same, so that what the one does for the other fails where it would.
pub(crate) fn drop_capabilities() -> Result<(), Errno> {
    let kept = CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER;
    let now = rustix::thread::capabilities(None)?;
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for dropped in CapabilitySet::all().difference(kept).iter() {
            match rustix::thread::remove_capability_from_bounding_set(dropped) {
                // One that this kernel does not know.
                Ok(()) | Err(Errno::INVAL) => {}
                Err(error) => return Err(error),
            }
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let kept = now.permitted & kept;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })
}
