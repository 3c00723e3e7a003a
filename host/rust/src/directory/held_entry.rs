//! Entries whose identity belongs to no other file.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::Dir;

use super::Identity;

/// A file or link that is held open, if necessary, for its identity.
///
/// File systems of Linux give the inode number of a deleted file to a new file, unless a descriptor of the deleted one
/// is open. APFS and NTFS do not use the number of a file again.
#[derive(Debug)]
pub(crate) struct HeldEntry {
    identity: Identity,
    #[cfg(target_os = "linux")]
    _descriptor: std::fs::File,
}

impl HeldEntry {
    /// Opens the entry `name`, without following a link and without the right to read it.
    #[cfg(target_os = "linux")]
    pub(super) fn open(dir: &Dir, name: &OsStr) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags, openat};

        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = std::fs::File::from(openat(dir, name, flags, Mode::empty())?);
        Ok(Self { identity: Identity::of_file(&descriptor)?, _descriptor: descriptor })
    }

    /// Finds the entry `name`, without following a link.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn open(dir: &Dir, name: &OsStr) -> io::Result<Self> {
        Ok(Self { identity: Identity::of(&dir.symlink_metadata(name)?) })
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }
}
