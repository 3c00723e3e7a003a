//! Changes of mode, owner and times, by path or by descriptor, even one that is open only for reading.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, Uid};
use rustix::io::Errno;

use super::existing_entry::ExistingEntry;
use super::{Reply, SyscallHandlers, Try};
use crate::access_control::Unresolved;
use crate::request::Metadata;
use crate::requested_path::{RequestedPath, own_link};

const SET_USER: u32 = 0o4000;
const SET_GROUP: u32 = 0o2000;

impl SyscallHandlers {
    pub(super) fn change_metadata(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        follow: bool,
        change: &Metadata,
    ) -> Result<Reply, Unresolved> {
        let existing = ExistingEntry::at(requested_path, follow)?;
        if let Metadata::Mode(mode) = change {
            let as_owner = mode & SET_USER != 0 || (mode & SET_GROUP != 0 && !existing.is_directory());
            if as_owner {
                return Err(self.access_control.refuse(
                    &existing.path,
                    "it would run with its owner's rights",
                    Errno::PERM,
                ));
            }
            self.stays_unrunnable(&existing, *mode)?;
        }
        let reported = self.may_change(this, &existing)?;
        self.changes.note(&self.access_control.path_classes, &existing.path, Some(existing.opened.as_fd()), reported);
        let existing = self.unshare(existing, true)?;
        apply(&existing, change)?;
        Ok(Reply::Success)
    }
}

fn apply(existing: &ExistingEntry, change: &Metadata) -> Result<(), Errno> {
    let link = own_link(existing.opened.as_fd());
    let symlink = existing.kind == FileType::Symlink;
    match change {
        Metadata::Mode(_) if symlink => Err(Errno::OPNOTSUPP),
        Metadata::Mode(mode) => rustix::fs::chmodat(CWD, link, Mode::from_raw_mode(mode & 0o7777), AtFlags::empty()),
        Metadata::Owner(user, group) => {
            let user = (*user != u32::MAX).then(|| Uid::from_raw(*user));
            let group = (*group != u32::MAX).then(|| Gid::from_raw(*group));
            rustix::fs::chownat(&existing.opened, c"", user, group, AtFlags::EMPTY_PATH)
        }
        Metadata::Times(times) if symlink => rustix::fs::utimensat(&existing.opened, c"", times, AtFlags::EMPTY_PATH),
        Metadata::Times(times) => rustix::fs::utimensat(CWD, link, times, AtFlags::empty()),
    }
}
