//! What a process may use up, and which of the user's powers it keeps.

use paddock_warden::protocol::Limits;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

/// Sets this process's limits; what is lower already stays.
pub(crate) fn set(limits: &Limits) -> Result<(), Errno> {
    lower(Resource::Core, 0)?;
    lower(Resource::Data, limits.max_memory_bytes)?;
    lower(Resource::Fsize, limits.max_file_bytes)?;
    lower(Resource::Nofile, limits.max_open_files)
}

fn lower(resource: Resource, limit: u64) -> Result<(), Errno> {
    let maximum = getrlimit(resource).maximum.map_or(limit, |it| it.min(limit));
    setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })
}

/// No memory image of this process is written anywhere.
pub(crate) fn leave_no_core() -> Result<(), Errno> {
    lower(Resource::Core, 0)
}

/// Gives up, for good, all but the two that ordinary work of the superuser on files needs.
///
/// Warden and command keep the same, so that what the one does for the other fails where it would.
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
