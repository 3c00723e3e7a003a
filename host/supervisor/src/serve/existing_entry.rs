//! File that a path leads to, and whether the command may access it.

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

/// An existing entry, opened with `O_PATH`.
pub(crate) struct ExistingEntry {
    pub(crate) opened: OwnedFd,
    pub(crate) stat: Stat,
    pub(crate) kind: FileType,
    /// Path without symbolic links.
    pub(crate) path: PathBuf,
    /// Whether the file has no path: a pipe, a socket or memory. The caller already has it open.
    pub(crate) own: bool,
    /// Whether the file no longer has a name.
    pub(crate) removed: bool,
}

impl ExistingEntry {
    pub(crate) fn new(opened: OwnedFd) -> Result<Self, Errno> {
        let stat = rustix::fs::fstat(&opened)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let mut path = real_path(opened.as_fd())?;
        let bytes = path.as_os_str().as_bytes();
        let is_unlinked = bytes.ends_with(REMOVED) && !has_that_name(&path, &stat);
        // Rules may treat the file's other names differently, and these names are unknown.
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

/// Returns whether a path that ends like that of a removed file is the real name of a file.
fn has_that_name(path: &Path, stat: &Stat) -> bool {
    let there = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
    there.is_ok_and(|there| climb::identity(&there) == climb::identity(stat))
}

const REMOVED: &[u8] = b" (deleted)";
/// Prefix of the kernel's paths of memory files, which are in no directory.
const MEMORY: &[u8] = b"/memfd:";

impl SyscallHandlers {
    /// Refuses a file of a root that no longer has a name, unless the command has opened or created it. The path that
    /// the file had does not tell which rules applied to it, because the directories on that path may have other rules
    /// by now.
    fn known_if_removed(&mut self, existing: &ExistingEntry, path_class: PathClass) -> Result<(), Unresolved> {
        let is_open = !existing.removed || existing.is_directory() || !matches!(path_class, PathClass::Root { .. });
        if is_open || FileKey::new(&existing.opened).is_ok_and(|file| self.opened.has(file)) {
            return Ok(());
        }
        Err(self.access_control.refuse(&existing.path, "it was removed before the command opened it", Errno::ACCESS))
    }

    /// Remembers that the command has opened a file in a root.
    pub(super) fn note_opened(&mut self, opened: impl AsFd, path: &Path) {
        if let (PathClass::Root { .. }, Ok(file)) = (self.access_control.path_class(path), FileKey::new(opened)) {
            self.opened.add(file);
        }
    }

    /// Checks whether the command may read the file.
    pub(crate) fn may_read(&mut self, this: Try<'_>, existing: &ExistingEntry) -> Result<(), Unresolved> {
        if existing.own {
            return Ok(());
        }
        match self.access_control.path_class(&existing.path) {
            PathClass::Process(process) if self.tree.has(process) => Ok(()),
            path_class => {
                self.no_stray_device(existing, path_class)?;
                self.known_if_removed(existing, path_class)?;
                self.access_control.open_to_all(&existing.opened, &existing.stat, &existing.path)?;
                self.access_control.read(this.known, &existing.path, existing.is_directory())
            }
        }
    }

    /// Checks whether the command may write the file's content.
    pub(crate) fn may_write(&mut self, this: Try<'_>, existing: &ExistingEntry) -> Result<Reporting, Unresolved> {
        let writable = self.access_control.path_class(&existing.path) == PathClass::Device { writable: true };
        if writable && existing.kind == FileType::CharacterDevice {
            Ok(Reporting::No)
        } else {
            self.may_change(this, existing)
        }
    }

    /// Checks whether the command may change the file, including its metadata.
    pub(crate) fn may_change(&mut self, this: Try<'_>, existing: &ExistingEntry) -> Result<Reporting, Unresolved> {
        if existing.own {
            return Ok(Reporting::No);
        }
        let path_class = self.access_control.path_class(&existing.path);
        self.no_stray_device(existing, path_class)?;
        self.known_if_removed(existing, path_class)?;
        self.access_control.open_to_all(&existing.opened, &existing.stat, &existing.path)?;
        let reported = self.access_control.change(this.known, &existing.path, existing.is_directory())?;
        Ok(if existing.removed { Reporting::No } else { reported })
    }

    /// Refuses a device file that is not one of the allowed devices, such as one in a root.
    fn no_stray_device(&mut self, existing: &ExistingEntry, path_class: PathClass) -> Result<(), Unresolved> {
        let device = matches!(existing.kind, FileType::CharacterDevice | FileType::BlockDevice);
        if device && !matches!(path_class, PathClass::Device { .. }) {
            return Err(self.access_control.refuse(&existing.path, "it is a device", Errno::ACCESS));
        }
        Ok(())
    }
}
