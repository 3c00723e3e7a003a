//! The size of a file, by its path.

use std::os::fd::AsFd;

use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use super::found::Found;
use super::open::reopen;
use super::{Desk, Reply, Try};
use crate::guard::Stop;
use crate::place::Place;

impl Desk {
    pub(super) fn truncate(&mut self, this: Try<'_>, place: &Place, length: u64) -> Result<Reply, Stop> {
        let found = Found::at(place, true)?;
        match found.kind {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR.into()),
            _ => return Err(Errno::INVAL.into()),
        }
        let told = self.may_change(this, &found)?;
        // The limit is the command's; the warden's own is none.
        if length > self.most_file_bytes && length > u64::try_from(found.stat.st_size).unwrap_or(0) {
            return Err(Errno::FBIG.into());
        }
        self.changes.note(&self.guard.areas, &found.path, Some(found.opened.as_fd()), told);
        let found = self.unshare(found, length > 0)?;
        rustix::fs::ftruncate(reopen(found.opened.as_fd(), OFlags::WRONLY)?, length)?;
        Ok(Reply::Done)
    }
}
