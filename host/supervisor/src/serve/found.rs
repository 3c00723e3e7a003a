//! The file that a path leads to, and whether the command may access it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Stat};
use rustix::io::Errno;

use super::{SyscallHandlers, Try};
use crate::access_control::{Reporting, Unresolved};
use crate::climb;
use crate::files::FileKey;
use crate::path_class::PathClass;
use crate::requested_path::{RequestedPath, real_path};

/// Something that is there, opened without access.
pub(crate) struct Found {
    pub(crate) opened: OwnedFd,
    pub(crate) stat: Stat,
    pub(crate) kind: FileType,
    /// Without links.
    pub(crate) path: PathBuf,
    /// It has no path: a pipe, a socket, memory. The caller has it open already.
    pub(crate) own: bool,
    /// It has no name any more.
    pub(crate) removed: bool,
}

impl Found {
    pub(crate) fn new(opened: OwnedFd) -> Result<Self, Errno> {
        let stat = rustix::fs::fstat(&opened)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let mut path = real_path(opened.as_fd())?;
        let bytes = path.as_os_str().as_bytes();
        let is_unlinked = bytes.ends_with(REMOVED) && !has_that_name(&path, &stat);
        // Other names may say something else of it, and which it has is not known.
        if is_unlinked && stat.st_nlink > 0 && bytes.starts_with(b"/") {
            return Err(Errno::ACCESS);
        }
        let removed = is_unlinked && stat.st_nlink == 0;
        let own = !bytes.starts_with(b"/") || (removed && bytes.starts_with(MEMORY));
        if removed {
            let name = bytes.strip_suffix(REMOVED).unwrap_or(bytes);
            path = PathBuf::from(OsStr::from_bytes(name));
        }
        Ok(Self { opened, stat, kind, path, own, removed })
    }

    pub(crate) fn at(requested_path: &RequestedPath, follow: bool) -> Result<Self, Errno> {
        Self::new(requested_path.find(follow)?)
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }
}

/// Whether a path that ends as those of removed files do is one that somebody gave to a file.
fn has_that_name(path: &Path, stat: &Stat) -> bool {
    let there = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
    there.is_ok_and(|there| climb::identity(&there) == climb::identity(stat))
}

const REMOVED: &[u8] = b" (deleted)";
/// Where the kernel says that memory files are: in no directory.
const MEMORY: &[u8] = b"/memfd:";

impl SyscallHandlers {
    /// Refuses a file of a root that has no name any more, unless the command has opened or made it: what rules said of
    /// it cannot be found by the path that it had, since the directories on that may have others by now.
    fn known_if_removed(&mut self, found: &Found, path_class: PathClass) -> Result<(), Unresolved> {
        let is_open = !found.removed || found.is_directory() || !matches!(path_class, PathClass::Root { .. });
        if is_open || FileKey::new(&found.opened).is_ok_and(|file| self.opened.has(file)) {
            return Ok(());
        }
        Err(self.access_control.refuse(&found.path, "it was removed before the command opened it", Errno::ACCESS))
    }

    /// Remembers that the command has a file of a root.
    pub(super) fn note_opened(&mut self, opened: impl AsFd, path: &Path) {
        if let (PathClass::Root { .. }, Ok(file)) = (self.access_control.path_class(path), FileKey::new(opened)) {
            self.opened.add(file);
        }
    }

    /// May it be read?
    pub(crate) fn may_read(&mut self, this: Try<'_>, found: &Found) -> Result<(), Unresolved> {
        if found.own {
            return Ok(());
        }
        match self.access_control.path_class(&found.path) {
            PathClass::Process(process) if self.tree.has(process) => Ok(()),
            path_class => {
                self.no_stray_device(found, path_class)?;
                self.known_if_removed(found, path_class)?;
                self.access_control.open_to_all(&found.opened, &found.stat, &found.path)?;
                self.access_control.read(this.known, &found.path, found.is_directory())
            }
        }
    }

    /// May its content be written?
    pub(crate) fn may_write(&mut self, this: Try<'_>, found: &Found) -> Result<Reporting, Unresolved> {
        let writable = self.access_control.path_class(&found.path) == PathClass::Device { writable: true };
        if writable && found.kind == FileType::CharacterDevice {
            Ok(Reporting::No)
        } else {
            self.may_change(this, found)
        }
    }

    /// May it be changed, its metadata too?
    pub(crate) fn may_change(&mut self, this: Try<'_>, found: &Found) -> Result<Reporting, Unresolved> {
        if found.own {
            return Ok(Reporting::No);
        }
        let path_class = self.access_control.path_class(&found.path);
        self.no_stray_device(found, path_class)?;
        self.known_if_removed(found, path_class)?;
        self.access_control.open_to_all(&found.opened, &found.stat, &found.path)?;
        let reported = self.access_control.change(this.known, &found.path, found.is_directory())?;
        Ok(if found.removed { Reporting::No } else { reported })
    }

    /// A device that somebody left in a root is not the root's.
    fn no_stray_device(&mut self, found: &Found, path_class: PathClass) -> Result<(), Unresolved> {
        let device = matches!(found.kind, FileType::CharacterDevice | FileType::BlockDevice);
        if device && !matches!(path_class, PathClass::Device { .. }) {
            return Err(self.access_control.refuse(&found.path, "it is a device", Errno::ACCESS));
        }
        Ok(())
    }
}
