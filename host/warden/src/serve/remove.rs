//! Removing a name.

use std::os::fd::AsFd;

use rustix::fs::AtFlags;

use super::found::Found;
use super::{Desk, Reply, Try};
use crate::guard::Stop;
use crate::place::Place;

impl Desk {
    pub(super) fn remove(&mut self, this: Try<'_>, place: &Place, directory: bool) -> Result<Reply, Stop> {
        let entry = place.entry()?;
        let found = Found::new(entry.find()?)?;
        self.guard.whole(&entry.path, Some(&found.stat))?;
        self.guard.open_to_all(&found.opened, &found.stat, &found.path)?;
        let told = self.guard.change(this.known, &entry.path, found.is_directory())?;
        if directory == found.is_directory() {
            self.changes.note(&self.guard.areas, &entry.path, Some(found.opened.as_fd()), told);
        }
        let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(&entry.directory, &entry.name, flags)?;
        self.links.remove(&found.opened);
        Ok(Reply::Done)
    }
}
