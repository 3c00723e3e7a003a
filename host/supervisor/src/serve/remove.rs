//! Removal of directory entries.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::existing_entry::ExistingEntry;
use super::{Reply, SyscallHandlers, Try};
use crate::access_control::Unresolved;
use crate::requested_path::RequestedPath;

impl SyscallHandlers {
    pub(super) fn remove(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        directory: bool,
    ) -> Result<Reply, Unresolved> {
        let entry = requested_path.entry()?;
        let existing = ExistingEntry::new(entry.find()?)?;
        self.access_control.whole(&entry.path, Some(&existing.stat))?;
        self.access_control.open_to_all(&existing.opened, &existing.stat, &existing.path)?;
        // Git tries to remove the directories above a removed reference, up to `.git`, and expects them not to be empty.
        // This is no change that the rules would have to refuse.
        if directory && existing.is_directory() && entry.path.ends_with(".git") {
            self.may_read(this, &existing)?;
            if has_entries(&existing)? {
                return Err(Errno::NOTEMPTY.into());
            }
        }
        let reported = self.access_control.change(this.known, &entry.path, existing.is_directory())?;
        if directory == existing.is_directory() {
            self.changes.note(&self.access_control.path_classes, &entry.path, Some(existing.opened.as_fd()), reported);
        }
        let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(&entry.directory, &entry.name, flags)?;
        self.links.remove(&existing.opened);
        Ok(Reply::Success)
    }
}

fn has_entries(existing: &ExistingEntry) -> Result<bool, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&existing.opened, c".", flags, Mode::empty())?;
    for entry in Dir::read_from(opened)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(true);
        }
    }
    Ok(false)
}
