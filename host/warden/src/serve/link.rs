//! A further name of a file.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, CWD};

use super::found::Found;
use super::{Desk, Reply, Try};
use crate::guard::Stop;
use crate::place::{Place, own_link};

impl Desk {
    /// Whoever has another name of a file can change it by that: so the file has to be one that may be changed, and
    /// its content is kept now.
    pub(super) fn link(&mut self, this: Try<'_>, from: &Place, to: &Place, follow: bool) -> Result<Reply, Stop> {
        let found = Found::at(from, follow)?;
        let told = self.may_change(this, &found)?;
        let entry = self.entry_to_make(this, to, false)?;
        self.changes.note(&found.path, Some(found.opened.as_fd()), told);
        if found.kind.is_symlink() {
            let from = from.entry()?;
            rustix::fs::linkat(&from.directory, &from.name, &entry.directory, &entry.name, AtFlags::empty())?;
        } else {
            let link = own_link(found.opened.as_fd());
            rustix::fs::linkat(CWD, link, &entry.directory, &entry.name, AtFlags::SYMLINK_FOLLOW)?;
        }
        Ok(Reply::Done)
    }
}
