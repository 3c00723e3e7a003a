//! Creation of hard links.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;

use super::existing_entry::ExistingEntry;
use super::{Reply, SyscallHandlers, Try};
use crate::access_control::Unresolved;
use crate::path_class::PathClass;
use crate::requested_path::{RequestedPath, own_link};

impl SyscallHandlers {
    /// Creates a hard link. The link's name can be used to change the file, so that the command must be allowed to
    /// change the file, and its content is copied now.
    pub(super) fn link(
        &mut self,
        this: Try<'_>,
        from: &RequestedPath,
        to: &RequestedPath,
        follow: bool,
    ) -> Result<Reply, Unresolved> {
        let existing = ExistingEntry::at(from, follow)?;
        let reported = self.may_change(this, &existing)?;
        let entry = self.entry_to_make(this, to, false)?;
        self.access_control.plain_in_git(&entry.path, existing.kind)?;
        self.one_side(&existing.path, &entry.path)?;
        self.changes.note(&self.access_control.path_classes, &existing.path, Some(existing.opened.as_fd()), reported);
        if existing.kind.is_symlink() {
            let from = from.entry()?;
            rustix::fs::linkat(&from.directory, &from.name, &entry.directory, &entry.name, AtFlags::empty())?;
        } else {
            let link = own_link(existing.opened.as_fd());
            rustix::fs::linkat(CWD, link, &entry.directory, &entry.name, AtFlags::SYMLINK_FOLLOW)?;
            if existing.kind.is_file() {
                // If the file had no name yet, all its names are the command's.
                self.links.add(&existing.opened, existing.stat.st_nlink);
            }
        }
        Ok(Reply::Success)
    }

    /// Fails with `XDEV` if only one of the two paths is in the temporary directory, where changes are not reported: a
    /// change under one name would go unreported under the other. Programs copy the file when they get this error.
    pub(super) fn one_side(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        let is_temporary = |path| self.access_control.path_class(path) == PathClass::Temporary;
        if is_temporary(from) == is_temporary(to) { Ok(()) } else { Err(Errno::XDEV) }
    }
}
