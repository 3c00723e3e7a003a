//! Replacement of a file that Git trusts: the content is read once, checked, and written to a file that no process of the
//! command has open.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, futimens, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::existing_entry::ExistingEntry;
use super::open::reopen;
use super::unshare::errno;
use super::{SyscallHandlers, Try};
use crate::access_control::{Question, Unresolved};
use crate::git_files::GitFile;
use crate::requested_path::Entry;

/// Maximum size of such a file in bytes. The index of half a million files is that large.
const MAX_BYTES: u64 = 64 << 20;
/// Name under which the checked content is written before the rename.
const TEMPORARY: &str = ".paddock-git.tmp";
/// Mode bits that the new file may get.
const MODE: u32 = 0o777;

impl SyscallHandlers {
    /// Renames `existing` to a file that Git trusts: a new file with the checked content gets the name, and the old name is
    /// removed. Every path that the content stages must be one that the command may change.
    pub(super) fn replace_git_file(
        &mut self,
        this: Try<'_>,
        file: GitFile,
        existing: &ExistingEntry,
        from: &Entry,
        to: &Entry,
    ) -> Result<(), Unresolved> {
        let old = to.find().and_then(ExistingEntry::new).and_then(|old| read(&old)).ok();
        let new = read(existing).map_err(|error| match error {
            Errno::FBIG => self.refuse_content(to, "it is too large to be checked", error),
            error => error.into(),
        })?;
        if file == GitFile::Index && uses_other_hash(&to.directory) {
            return Err(self.refuse_content(
                to,
                "a repository with another hash than SHA-1 cannot be checked",
                Errno::ACCESS,
            ));
        }
        let staged =
            file.check(old.as_deref(), &new).map_err(|cause| self.refuse_content(to, &cause, Errno::ACCESS))?;
        let top = to.path.parent().and_then(Path::parent).unwrap_or(&to.path).to_owned();
        let paths = staged.iter().map(|path| (top.join(path), false));
        if !self.may_change_all(this, paths)? {
            return Err(self.refuse_content(to, "it stages more paths than can be checked", Errno::ACCESS));
        }
        Ok(put(&new, existing, from, to)?)
    }

    /// Checks that the command may change each of these paths, which are directories if the second value says so.
    /// Returns false if they are too many to be checked.
    pub(super) fn may_change_all(
        &mut self,
        this: Try<'_>,
        paths: impl Iterator<Item = (PathBuf, bool)>,
    ) -> Result<bool, Unresolved> {
        let (mut unknown, mut bytes) = (Vec::new(), 0);
        for (path, is_directory) in paths {
            match self.access_control.change(this.known, &path, is_directory) {
                Ok(_) => {}
                Err(Unresolved::NeedsAnswers(mut questions)) => {
                    bytes += questions.iter().map(Question::size).sum::<usize>();
                    unknown.append(&mut questions);
                }
                Err(refused) => return Err(refused),
            }
            if bytes > MAX_QUESTION_BYTES {
                return Ok(false);
            }
        }
        if unknown.is_empty() { Ok(true) } else { Err(Unresolved::NeedsAnswers(unknown)) }
    }

    fn refuse_content(&mut self, to: &Entry, cause: &str, error: Errno) -> Unresolved {
        self.access_control.refuse(&to.path, cause, error)
    }
}

/// Maximum memory of the questions about one call, in bytes.
const MAX_QUESTION_BYTES: usize = 20 << 20;

/// Returns the content of a regular file; fails with `FBIG` if it is larger than [`MAX_BYTES`].
fn read(existing: &ExistingEntry) -> Result<Vec<u8>, Errno> {
    let file = File::from(reopen(existing.opened.as_fd(), OFlags::RDONLY | OFlags::NONBLOCK)?);
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content).map_err(errno)?;
    if content.len() as u64 > MAX_BYTES { Err(Errno::FBIG) } else { Ok(content) }
}

/// Returns whether the settings of the repository in `directory` name an object format, or cannot be read.
fn uses_other_hash(directory: &OwnedFd) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let settings = openat(directory, "config", flags, Mode::empty())
        .and_then(ExistingEntry::new)
        .and_then(|existing| read(&existing));
    settings.map_or(true, |text| text.to_ascii_lowercase().windows(FORMAT.len()).any(|part| part == FORMAT))
}

const FORMAT: &[u8] = b"objectformat";

/// Writes the content to a new file at `to`, with the mode and times of `existing`, and removes `from`.
fn put(content: &[u8], existing: &ExistingEntry, from: &Entry, to: &Entry) -> Result<(), Errno> {
    // A crash may have left an earlier attempt.
    let _absent = unlinkat(&to.directory, TEMPORARY, AtFlags::empty());
    let making = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(&to.directory, TEMPORARY, making, Mode::from_raw_mode(0o600))?);
    let mut write = || {
        file.write_all(content).map_err(errno)?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(existing.stat.st_mode & MODE))?;
        // Git compares the time of the index with those of files that changed in the same second.
        futimens(&file, &times(existing))?;
        // Git syncs references before it renames them, and the copy has to be as durable.
        file.sync_all().map_err(errno)?;
        renameat(&to.directory, TEMPORARY, &to.directory, &to.name)?;
        unlinkat(&from.directory, &from.name, AtFlags::empty())
    };
    write().inspect_err(|_| {
        let _absent = unlinkat(&to.directory, TEMPORARY, AtFlags::empty());
    })
}

fn times(existing: &ExistingEntry) -> Timestamps {
    let time =
        |seconds, nanoseconds: u64| Timespec { tv_sec: seconds, tv_nsec: i64::try_from(nanoseconds).unwrap_or(0) };
    Timestamps {
        last_access: time(existing.stat.st_atime, existing.stat.st_atime_nsec),
        last_modification: time(existing.stat.st_mtime, existing.stat.st_mtime_nsec),
    }
}
