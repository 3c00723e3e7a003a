//! Truncation of a file by its path.

use std::os::fd::AsFd;

use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use super::existing_entry::ExistingEntry;
use super::open::reopen;
use super::{Reply, SyscallHandlers, Try};
use crate::access_control::Unresolved;
use crate::requested_path::RequestedPath;

impl SyscallHandlers {
    pub(super) fn truncate(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        length: u64,
    ) -> Result<Reply, Unresolved> {
        let existing = ExistingEntry::at(requested_path, true)?;
        match existing.kind {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR.into()),
            _ => return Err(Errno::INVAL.into()),
        }
        let reported = self.may_change(this, &existing)?;
        // The file size limit of the command does not apply to the supervisor, which makes the call.
        if length > self.max_file_bytes && length > u64::try_from(existing.stat.st_size).unwrap_or(0) {
            return Err(Errno::FBIG.into());
        }
        self.changes.note(&self.access_control.path_classes, &existing.path, Some(existing.opened.as_fd()), reported);
        let existing = self.unshare(existing, length > 0)?;
        rustix::fs::ftruncate(reopen(existing.opened.as_fd(), OFlags::WRONLY)?, length)?;
        Ok(Reply::Success)
    }
}
