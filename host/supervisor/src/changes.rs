//! Records of entries before the command's first change of each.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use paddock_supervisor::protocol::{Before, Kind};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, statat, unlinkat};

use crate::access_control::Reporting;
use crate::path_class::PathClasses;
use crate::requested_path::own_link;

/// Maximum memory for recorded changes, in bytes, so that a command cannot fill this process's memory with names.
pub(crate) const MAX_REMEMBERED: usize = 16 << 20;
/// Estimated memory of a recorded change apart from its name, in bytes. The name is stored three times.
const EACH: usize = 256;

/// The entry at each path before its first change.
pub(crate) struct Changes {
    staging: OwnedFd,
    /// Bytes of file content that may still be copied.
    left: u64,
    /// Number that names the next copy in `staging`.
    next: u64,
    known_locations: HashSet<Location>,
    /// Recorded changes, in their order; an ignored change has no state.
    noted: Vec<(Location, Option<Before>)>,
    not_stored: Vec<String>,
    /// Estimated memory of the recorded changes, in bytes.
    remembered: usize,
    /// Number of changes that were not recorded for lack of memory.
    unrecorded: u64,
}

/// Index of a root, and a path relative to it.
type Location = (usize, PathBuf);

/// Position in the records to which a failed call rolls back.
#[derive(Clone, Copy)]
pub(crate) struct Savepoint {
    noted: usize,
    not_stored: usize,
}

/// Changes of the command, as they are reported.
pub(crate) struct ChangeReport {
    pub(crate) before: Vec<Before>,
    pub(crate) ignored: u64,
    pub(crate) not_stored: Vec<String>,
    pub(crate) unrecorded: u64,
}

impl Changes {
    pub(crate) fn new(staging: OwnedFd, max_bytes: u64) -> Self {
        Self {
            staging,
            left: max_bytes,
            next: 0,
            known_locations: HashSet::new(),
            noted: Vec::new(),
            not_stored: Vec::new(),
            remembered: 0,
            unrecorded: 0,
        }
    }

    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint { noted: self.noted.len(), not_stored: self.not_stored.len() }
    }

    /// Records the entry at a path before a change, if the path has no record yet.
    ///
    /// `now` is the entry, opened without following a link; `None` if there is no entry.
    pub(crate) fn note(
        &mut self,
        path_classes: &PathClasses,
        path: &Path,
        now: Option<BorrowedFd<'_>>,
        reported: Reporting,
    ) {
        let Some(at) =
            path_classes.locate(path).filter(|at| reported != Reporting::No && !self.known_locations.contains(at))
        else {
            return;
        };
        if !self.has_capacity(remembered(&at.1)) {
            return;
        }
        self.known_locations.insert(at.clone());
        let before = if reported == Reporting::Ignored { None } else { self.before(&at, path, now) };
        self.noted.push((at, before));
    }

    /// Records that a path changed and that its previous state is lost.
    pub(crate) fn lose(&mut self, path: &Path) {
        let path = path.to_string_lossy().into_owned();
        if self.has_capacity(remembered(Path::new(&path))) {
            self.not_stored.push(path);
        }
    }

    /// Reserves memory for one more change; if there is not enough, counts the change and returns false.
    fn has_capacity(&mut self, size: usize) -> bool {
        if self.remembered + size > MAX_REMEMBERED {
            self.unrecorded = self.unrecorded.saturating_add(1);
            return false;
        }
        self.remembered += size;
        true
    }

    /// Removes the records made since `savepoint`, for a call that failed.
    pub(crate) fn roll_back(&mut self, savepoint: Savepoint) {
        while self.noted.len() > savepoint.noted {
            let Some((at, before)) = self.noted.pop() else { return };
            self.remembered -= remembered(&at.1);
            self.known_locations.remove(&at);
            if let Some(before) = before {
                self.discard(&before);
            }
        }
        let lost = self.not_stored.drain(savepoint.not_stored.min(self.not_stored.len())..);
        self.remembered -= lost.map(|path| remembered(Path::new(&path))).sum::<usize>();
    }

    /// Returns the recorded changes, except those of entries that were created and are gone again.
    pub(crate) fn report(self, path_classes: &PathClasses) -> ChangeReport {
        let mut reported =
            ChangeReport { before: Vec::new(), ignored: 0, not_stored: self.not_stored, unrecorded: self.unrecorded };
        for ((root, path), before) in self.noted {
            match before {
                None => reported.ignored = reported.ignored.saturating_add(1),
                Some(before) if before.kind == Kind::Absent && path_classes.stat_below(root, &path).is_err() => {}
                Some(before) => reported.before.push(before),
            }
        }
        reported
    }

    fn before(&mut self, at: &Location, path: &Path, now: Option<BorrowedFd<'_>>) -> Option<Before> {
        let Some(name) = at.1.to_str() else {
            self.lose(path);
            return None;
        };
        let (root, name) = (at.0, name.to_owned());
        let mut before = Before { root, path: name, kind: Kind::Absent, mode: 0, target: None, staged_file: None };
        let Some(now) = now else { return Some(before) };
        let Ok(stat) = rustix::fs::fstat(now) else {
            self.lose(path);
            return Some(before);
        };
        before.mode = stat.st_mode & 0o7777;
        before.kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                before.staged_file = self.keep(now, &stat);
                if before.staged_file.is_none() {
                    self.lose(path);
                }
                Kind::File
            }
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(now, c"", Vec::new());
                before.target = target.ok().and_then(|it| it.into_string().ok());
                if before.target.is_none() {
                    self.lose(path);
                }
                Kind::Symlink
            }
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        };
        Some(before)
    }

    /// Copies a file's content to the staging directory, sharing its blocks if the file system supports it. Returns the
    /// name of the copy, or `None` if the content is too large or cannot be copied.
    fn keep(&mut self, file: BorrowedFd<'_>, stat: &Stat) -> Option<String> {
        let size = u64::try_from(stat.st_size).ok()?;
        if size > self.left {
            return None;
        }
        let name = self.next.to_string();
        let copied = copy(file, &self.staging, &name, self.left);
        match copied {
            Ok(bytes) => {
                self.left = self.left.saturating_sub(bytes);
                self.next = self.next.saturating_add(1);
                Some(name)
            }
            Err(_) => {
                // If the removal fails, the next copy overwrites the file.
                let _left = unlinkat(&self.staging, &name, AtFlags::empty());
                None
            }
        }
    }

    fn discard(&mut self, before: &Before) {
        let Some(staged_file) = &before.staged_file else { return };
        let stat = statat(&self.staging, staged_file, AtFlags::SYMLINK_NOFOLLOW);
        let bytes = stat.map_or(0, |it| u64::try_from(it.st_size).unwrap_or(0));
        // If the removal fails, the file is removed with the directory.
        let _left = unlinkat(&self.staging, staged_file, AtFlags::empty());
        self.left = self.left.saturating_add(bytes);
    }
}

/// Returns the estimated memory of a record of a path, in bytes.
fn remembered(path: &Path) -> usize {
    3 * path.as_os_str().len() + EACH
}

/// Copies the content of a file to a file in a directory, sharing its blocks if the file system supports it, and
/// returns the number of bytes. Fails with `FileTooLarge` if more than `max` bytes would have to be copied; the limit
/// does not apply to shared blocks.
pub(crate) fn copy(file: BorrowedFd<'_>, directory: &OwnedFd, name: &str, max: u64) -> io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let from = File::from(rustix::fs::openat(CWD, own_link(file), flags, Mode::empty())?);
    let making = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut to = File::from(rustix::fs::openat(directory, name, making, Mode::RUSR | Mode::WUSR)?);
    if rustix::fs::ioctl_ficlone(to.as_fd(), from.as_fd()).is_ok() {
        return Ok(to.metadata()?.len());
    }
    // The file may grow during the copy.
    let copied = io::copy(&mut from.take(max.saturating_add(1)), &mut to)?;
    if copied > max { Err(io::Error::from(io::ErrorKind::FileTooLarge)) } else { Ok(copied) }
}
