//! Renaming. Renaming a directory changes every path below it, so that the rules are asked about each path below, under
//! its old and its new name, and each is reported.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use paddock_supervisor::protocol::Access;
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::existing_entry::ExistingEntry;
use super::{Reply, SyscallHandlers, Try};
use crate::access_control::{Answer, Question, Reporting, Unresolved};
use crate::requested_path::{Entry, RequestedPath};

/// Maximum number of entries below a directory whose state is recorded.
const MAX_BELOW: usize = 10_000;
/// Maximum number of entries below a directory that the host is asked about, and maximum total length of their paths in
/// bytes. With rules, a directory that exceeds one of them is not renamed.
const MAX_QUESTIONS: usize = 50_000;
const MAX_BYTES: usize = 4 << 20;

/// An entry below a directory.
struct Below {
    /// Path relative to the directory.
    path: PathBuf,
    is_directory: bool,
}

impl SyscallHandlers {
    pub(super) fn rename(
        &mut self,
        this: Try<'_>,
        from: &RequestedPath,
        to: &RequestedPath,
        flags: RenameFlags,
    ) -> Result<Reply, Unresolved> {
        if flags.contains(RenameFlags::WHITEOUT) {
            return Err(Errno::PERM.into());
        }
        let (from, to) = (from.entry()?, to.entry()?);
        let existing = ExistingEntry::new(from.find()?)?;
        let over = to.find().ok().map(ExistingEntry::new).transpose()?;
        if over.is_some() && flags.contains(RenameFlags::NOREPLACE) {
            return Err(Errno::EXIST.into());
        }
        self.access_control.whole(&from.path, Some(&existing.stat))?;
        self.access_control.whole(&to.path, over.as_ref().map(|it| &it.stat))?;
        self.access_control.open_to_all(&existing.opened, &existing.stat, &existing.path)?;
        self.check_new_at(&to)?;
        self.access_control.plain_in_git(&to.path, existing.kind)?;
        if let Some(over) = over.as_ref().filter(|_| flags.contains(RenameFlags::EXCHANGE)) {
            self.access_control.plain_in_git(&from.path, over.kind)?;
        }
        if existing.is_directory() || existing.stat.st_nlink > 1 {
            self.one_side(&from.path, &to.path)?;
        }
        let reported = self.access_control.change(this.known, &from.path, existing.is_directory())?;
        let git_file = self.access_control.git_file(&to.path).filter(|_| !flags.contains(RenameFlags::EXCHANGE));
        let reported_over = match git_file {
            Some(_) => self.access_control.replace(this.known, &to.path, existing.is_directory())?,
            None => self.access_control.change(this.known, &to.path, existing.is_directory())?,
        };
        let there = self.below(this, &existing, &from, &to)?;
        let back = match &over {
            Some(over) if flags.contains(RenameFlags::EXCHANGE) => self.below(this, over, &to, &from)?,
            _ => Vec::new(),
        };
        self.changes.note(&self.access_control.path_classes, &from.path, Some(existing.opened.as_fd()), reported);
        self.changes.note(
            &self.access_control.path_classes,
            &to.path,
            over.as_ref().map(|it| it.opened.as_fd()),
            reported_over,
        );
        for (side, reported, below) in [
            (&from, reported, &there),
            (&to, reported_over, &there),
            (&to, reported_over, &back),
            (&from, reported, &back),
        ] {
            self.note_below(this, side, reported, below);
        }
        match git_file {
            Some(file) => self.replace_git_file(this, file, &existing, &from, &to)?,
            None => rustix::fs::renameat_with(&from.directory, &from.name, &to.directory, &to.name, flags)?,
        }
        if let Some(over) = over.filter(|_| !flags.contains(RenameFlags::EXCHANGE)) {
            self.links.remove(&over.opened);
        }
        Ok(Reply::Success)
    }

    /// Returns the entries below a directory that is renamed, after checking that the rules refuse none of them under
    /// either name.
    fn below(
        &mut self,
        this: Try<'_>,
        existing: &ExistingEntry,
        from: &Entry,
        to: &Entry,
    ) -> Result<Vec<Below>, Unresolved> {
        if !existing.is_directory() {
            return Ok(Vec::new());
        }
        let max = if self.access_control.has_rules() { MAX_QUESTIONS } else { MAX_BELOW };
        let Some(below) = walk(existing, max)? else {
            if !self.access_control.has_rules() {
                self.changes.lose(&from.path);
                return Ok(Vec::new());
            }
            return Err(self.too_much(from));
        };
        let named = |it: &Below| [&from.path, &to.path].map(|top| (top.join(&it.path), it.is_directory));
        match self.may_change_all(this, below.iter().flat_map(named))? {
            true => Ok(below),
            false => Err(self.too_much(from)),
        }
    }

    fn too_much(&mut self, from: &Entry) -> Unresolved {
        self.access_control.refuse(&from.path, "it contains more entries than can be checked", Errno::ACCESS)
    }

    /// Records the present state of the entries below one of the two names of a directory.
    fn note_below(&mut self, this: Try<'_>, side: &Entry, reported: Reporting, below: &[Below]) {
        if reported == Reporting::Ignored {
            return;
        }
        if below.len() > MAX_BELOW {
            self.changes.lose(&side.path);
        }
        let mut ignored: Option<&Path> = None;
        for it in below.iter().take(MAX_BELOW) {
            if ignored.is_some_and(|ignored| it.path.starts_with(ignored)) {
                continue;
            }
            let path = side.path.join(&it.path);
            let answer = self.access_control.path_classes.locate(&path).and_then(|(root, path)| {
                let question = Question { root, path, access: Access::Change, is_directory: it.is_directory };
                this.known.get(&question)
            });
            let is_ignored = answer.is_some_and(|it: &Answer| it.ignored);
            ignored = (is_ignored && it.is_directory).then_some(it.path.as_path());
            let reported = if is_ignored { Reporting::Ignored } else { reported };
            self.changes.note(
                &self.access_control.path_classes,
                &path,
                open_below(side, &it.path).ok().as_ref().map(AsFd::as_fd),
                reported,
            );
        }
    }
}

/// Returns all entries below a directory, each directory before its contents; `None` if there are more than `max` or
/// their paths are longer than [`MAX_BYTES`].
fn walk(top: &ExistingEntry, max: usize) -> Result<Option<Vec<Below>>, Errno> {
    let (mut entries, mut bytes) = (Vec::new(), 0);
    let mut left = vec![PathBuf::new()];
    while let Some(path) = left.pop() {
        if !path.as_os_str().is_empty() {
            entries.push(Below { path: path.clone(), is_directory: true });
        }
        let start = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let directory = rustix::fs::openat2(&top.opened, start, flags, Mode::empty(), resolve)?;
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let below = path.join(std::ffi::OsStr::from_bytes(name));
            bytes += below.as_os_str().len();
            if is_directory(&directory, &entry)? {
                left.push(below);
            } else {
                entries.push(Below { path: below, is_directory: false });
            }
            if entries.len() + left.len() > max || bytes > MAX_BYTES {
                return Ok(None);
            }
        }
    }
    Ok(Some(entries))
}

/// Returns whether an entry is a directory. Some file systems do not report the type in the directory listing.
fn is_directory(directory: &OwnedFd, entry: &DirEntry) -> Result<bool, Errno> {
    match entry.file_type() {
        FileType::Unknown => {
            let stat = rustix::fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
        }
        kind => Ok(kind == FileType::Directory),
    }
}

fn open_below(side: &Entry, path: &Path) -> Result<OwnedFd, Errno> {
    let name = side.plain_name()?;
    let path = [name.as_bytes(), b"/", path.as_os_str().as_bytes()].concat();
    let path = CString::new(path).map_err(|_| Errno::INVAL)?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(&side.directory, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}
