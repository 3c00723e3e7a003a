//! Opening of files: a file is found with `O_PATH`, checked, and reopened through that descriptor with the requested
//! access.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::existing_entry::ExistingEntry;
use super::{Reply, SyscallHandlers, Try};
use crate::access_control::{Reporting, Unresolved};
use crate::requested_path::{RequestedPath, own_link};
use crate::tree::Tree;

/// Maximum number of attempts when an entry appears and disappears between two steps.
const MAX_RACES: usize = 16;
/// Flags that are dropped when the found file is opened: those about finding and creating the file, and `O_ASYNC`,
/// whose signals would go to the supervisor.
const OVER: OFlags = OFlags::CREATE.union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::from_bits_retain(ASYNC));
const ASYNC: u32 = libc::O_ASYNC.cast_unsigned();
/// Mode bits that a new file may get: all except set-user-ID and set-group-ID.
const MODE: u32 = 0o1777;

impl SyscallHandlers {
    pub(crate) fn open(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        flags: OFlags,
        mode: u32,
    ) -> Result<Reply, Unresolved> {
        self.may_open_files(this)?;
        if matches!(requested_path, RequestedPath::Terminal) {
            return self.open_terminal(this, flags);
        }
        if flags.contains(OFlags::TMPFILE) {
            return self.open_nameless(this, requested_path, flags, mode);
        }
        let making = flags.contains(OFlags::CREATE);
        let exclusive = making && flags.contains(OFlags::EXCL);
        for _ in 0..MAX_RACES {
            match ExistingEntry::at(requested_path, !exclusive && !flags.contains(OFlags::NOFOLLOW)) {
                Ok(_) if exclusive => return Err(Errno::EXIST.into()),
                Ok(existing) => return self.open_existing(this, existing, flags),
                Err(Errno::NOENT) if making => match self.make(this, requested_path, flags, mode) {
                    Err(Unresolved::Errno(Errno::EXIST)) if !exclusive => {}
                    result => return result,
                },
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::AGAIN.into())
    }

    fn open_existing(
        &mut self,
        this: Try<'_>,
        mut existing: ExistingEntry,
        flags: OFlags,
    ) -> Result<Reply, Unresolved> {
        let writing = flags.intersects(OFlags::RWMODE | OFlags::TRUNC);
        match existing.kind {
            FileType::Symlink => return Err(Errno::LOOP.into()),
            FileType::Directory if writing || flags.contains(OFlags::CREATE) => return Err(Errno::ISDIR.into()),
            FileType::Directory => {}
            _ if flags.contains(OFlags::DIRECTORY) => return Err(Errno::NOTDIR.into()),
            _ => {}
        }
        if writing {
            let reported = self.may_write(this, &existing)?;
            if existing.kind == FileType::RegularFile {
                self.changes.note(
                    &self.access_control.path_classes,
                    &existing.path,
                    Some(existing.opened.as_fd()),
                    reported,
                );
                existing = self.unshare(existing, !flags.contains(OFlags::TRUNC))?;
            }
        } else {
            self.may_read(this, &existing)?;
        }
        if !existing.is_directory() {
            self.note_opened(&existing.opened, &existing.path);
        }
        let flags = flags & !OVER;
        if existing.kind == FileType::Fifo && !flags.contains(OFlags::NONBLOCK) {
            return self.open_pipe(this, &existing, flags);
        }
        give(existing.opened.as_fd(), flags)
    }

    /// Creates a file; fails with `EXIST` if another process creates it in the meantime.
    fn make(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        flags: OFlags,
        mode: u32,
    ) -> Result<Reply, Unresolved> {
        let follow = !flags.intersects(OFlags::EXCL | OFlags::NOFOLLOW);
        let entry = if follow { requested_path.entry_to_make()? } else { requested_path.entry()? };
        if entry.name.as_bytes().ends_with(b"/") {
            return Err(Errno::ISDIR.into());
        }
        self.check_new(&entry)?;
        let reported = self.access_control.change(this.known, &entry.path, false)?;
        self.changes.note(&self.access_control.path_classes, &entry.path, None, reported);
        let making = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & MODE);
        let file =
            with_umask(this, || rustix::fs::openat(&entry.directory, &entry.name, (flags & !OVER) | making, mode))?;
        self.note_opened(&file, &entry.path);
        Ok(Reply::Give(file, flags.contains(OFlags::CLOEXEC)))
    }

    /// Opens a new file without a name (`O_TMPFILE`) in the file system of a directory.
    fn open_nameless(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        flags: OFlags,
        mode: u32,
    ) -> Result<Reply, Unresolved> {
        let existing = ExistingEntry::at(requested_path, !flags.contains(OFlags::NOFOLLOW))?;
        if !existing.is_directory() {
            return Err(Errno::NOTDIR.into());
        }
        let _nothing_changes: Reporting = self.may_change(this, &existing)?;
        let open_flags = (flags & !(OVER & !OFlags::EXCL)) | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & MODE);
        let file = with_umask(this, || rustix::fs::openat(&existing.opened, c".", open_flags, mode))?;
        self.note_opened(&file, &existing.path);
        Ok(Reply::Give(file, flags.contains(OFlags::CLOEXEC)))
    }

    fn open_terminal(&self, this: Try<'_>, flags: OFlags) -> Result<Reply, Unresolved> {
        match &self.terminal {
            Some(terminal) if Tree::has_terminal(this.call.task) => give(terminal.as_fd(), flags & !OVER),
            _ => Err(Errno::NXIO.into()),
        }
    }
}

fn give(opened: BorrowedFd<'_>, flags: OFlags) -> Result<Reply, Unresolved> {
    Ok(Reply::Give(reopen(opened, flags)?, flags.contains(OFlags::CLOEXEC)))
}

/// Reopens a found and checked file with the requested access.
pub(super) fn reopen(opened: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, own_link(opened), flags | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
}

/// Runs `make` with the caller's umask. The supervisor does not apply the mask itself, because the kernel ignores it in
/// a directory with a default ACL.
pub(super) fn with_umask<T>(this: Try<'_>, make: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    let own = rustix::process::umask(this.call.umask()?);
    let result = make();
    rustix::process::umask(own);
    result
}
