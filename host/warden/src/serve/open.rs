//! Opening: the file is found, checked, and only then opened as asked for, by the way that was checked.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::found::Found;
use super::{Desk, Reply, Try};
use crate::guard::{Stop, Told};
use crate::place::{Place, own_link};
use crate::tree::Tree;

/// How often something may come into being, and be gone again, between two looks.
const MOST_RACES: usize = 16;
/// Of flags, those that are about finding and making, which is over when a file is opened, and one whose signals would
/// go to the warden.
const OVER: OFlags = OFlags::CREATE.union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::from_bits_retain(ASYNC));
const ASYNC: u32 = libc::O_ASYNC.cast_unsigned();
/// Bits of a mode that a new file gets: not those that make it run as its owner.
const MODE: u32 = 0o1777;

impl Desk {
    pub(crate) fn open(&mut self, this: Try<'_>, place: &Place, flags: OFlags, mode: u32) -> Result<Reply, Stop> {
        self.may_open_files(this)?;
        if matches!(place, Place::Terminal) {
            return self.open_terminal(this, flags);
        }
        if flags.contains(OFlags::TMPFILE) {
            return self.open_nameless(this, place, flags, mode);
        }
        let making = flags.contains(OFlags::CREATE);
        let exclusive = making && flags.contains(OFlags::EXCL);
        for _ in 0..MOST_RACES {
            match Found::at(place, !exclusive && !flags.contains(OFlags::NOFOLLOW)) {
                Ok(_) if exclusive => return Err(Errno::EXIST.into()),
                Ok(found) => return self.open_found(this, found, flags),
                Err(Errno::NOENT) if making => match self.make(this, place, flags, mode) {
                    Err(Stop::Errno(Errno::EXIST)) if !exclusive => {}
                    made => return made,
                },
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::AGAIN.into())
    }

    fn open_found(&mut self, this: Try<'_>, mut found: Found, flags: OFlags) -> Result<Reply, Stop> {
        let writing = flags.intersects(OFlags::RWMODE | OFlags::TRUNC);
        match found.kind {
            FileType::Symlink => return Err(Errno::LOOP.into()),
            FileType::Directory if writing || flags.contains(OFlags::CREATE) => return Err(Errno::ISDIR.into()),
            FileType::Directory => {}
            _ if flags.contains(OFlags::DIRECTORY) => return Err(Errno::NOTDIR.into()),
            _ => {}
        }
        if writing {
            let told = self.may_write(this, &found)?;
            if found.kind == FileType::RegularFile {
                self.changes.note(&self.guard.areas, &found.path, Some(found.opened.as_fd()), told);
                found = self.unshare(found, !flags.contains(OFlags::TRUNC))?;
            }
        } else {
            self.may_read(this, &found)?;
        }
        if !found.is_directory() {
            self.note_opened(&found.opened, &found.path);
        }
        let flags = flags & !OVER;
        if found.kind == FileType::Fifo && !flags.contains(OFlags::NONBLOCK) {
            return self.open_pipe(this, &found, flags);
        }
        give(found.opened.as_fd(), flags)
    }

    /// Makes a file, which may come into being otherwise meanwhile.
    fn make(&mut self, this: Try<'_>, place: &Place, flags: OFlags, mode: u32) -> Result<Reply, Stop> {
        let follow = !flags.intersects(OFlags::EXCL | OFlags::NOFOLLOW);
        let entry = if follow { place.entry_to_make()? } else { place.entry()? };
        if entry.name.as_bytes().ends_with(b"/") {
            return Err(Errno::ISDIR.into());
        }
        self.check_new(&entry)?;
        let told = self.guard.change(this.known, &entry.path, false)?;
        self.changes.note(&self.guard.areas, &entry.path, None, told);
        let making = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & MODE);
        let made =
            with_umask(this, || rustix::fs::openat(&entry.directory, &entry.name, (flags & !OVER) | making, mode))?;
        self.note_opened(&made, &entry.path);
        Ok(Reply::Give(made, flags.contains(OFlags::CLOEXEC)))
    }

    /// A file without a name, in the file system of a directory.
    fn open_nameless(&mut self, this: Try<'_>, place: &Place, flags: OFlags, mode: u32) -> Result<Reply, Stop> {
        let found = Found::at(place, !flags.contains(OFlags::NOFOLLOW))?;
        if !found.is_directory() {
            return Err(Errno::NOTDIR.into());
        }
        let _nothing_changes: Told = self.may_change(this, &found)?;
        let asked = (flags & !(OVER & !OFlags::EXCL)) | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & MODE);
        let made = with_umask(this, || rustix::fs::openat(&found.opened, c".", asked, mode))?;
        self.note_opened(&made, &found.path);
        Ok(Reply::Give(made, flags.contains(OFlags::CLOEXEC)))
    }

    fn open_terminal(&self, this: Try<'_>, flags: OFlags) -> Result<Reply, Stop> {
        match &self.terminal {
            Some(terminal) if Tree::has_terminal(this.call.task) => give(terminal.as_fd(), flags & !OVER),
            _ => Err(Errno::NXIO.into()),
        }
    }
}

fn give(opened: BorrowedFd<'_>, flags: OFlags) -> Result<Reply, Stop> {
    Ok(Reply::Give(reopen(opened, flags)?, flags.contains(OFlags::CLOEXEC)))
}

/// Opens what was found and checked with the access that was asked for.
pub(super) fn reopen(opened: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, own_link(opened), flags | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
}

/// Makes something with the caller's mask, which a directory's default list of rights may set aside.
pub(super) fn with_umask<T>(this: Try<'_>, make: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    let own = rustix::process::umask(this.call.umask()?);
    let made = make();
    rustix::process::umask(own);
    made
}
