//! Creation of directories, pipes, empty files and symbolic links.

use std::ffi::CString;

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;

use super::open::with_umask;
use super::{Reply, SyscallHandlers, Try};
use crate::access_control::Unresolved;
use crate::requested_path::{Entry, RequestedPath};

/// Mode bits that a new directory may get. They include the set-group-ID bit, by which new files inherit the
/// directory's group.
const DIRECTORY_MODE: u32 = 0o3777;
const MODE: u32 = 0o1777;

impl SyscallHandlers {
    pub(super) fn make_directory(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        mode: u32,
    ) -> Result<Reply, Unresolved> {
        let entry = self.entry_to_make(this, requested_path, true)?;
        let mode = Mode::from_raw_mode(mode & DIRECTORY_MODE);
        with_umask(this, || rustix::fs::mkdirat(&entry.directory, &entry.name, mode))?;
        Ok(Reply::Success)
    }

    pub(super) fn make_node(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        mode: u32,
    ) -> Result<Reply, Unresolved> {
        let kind = match FileType::from_raw_mode(mode) {
            FileType::Fifo => FileType::Fifo,
            FileType::RegularFile => FileType::RegularFile,
            _ if mode & libc::S_IFMT == 0 => FileType::RegularFile,
            _ => return Err(Errno::PERM.into()),
        };
        let entry = self.entry_to_make(this, requested_path, false)?;
        self.access_control.plain_in_git(&entry.path, kind)?;
        let mode = Mode::from_raw_mode(mode & MODE);
        with_umask(this, || rustix::fs::mknodat(&entry.directory, &entry.name, kind, mode, 0))?;
        Ok(Reply::Success)
    }

    /// Creates a symbolic link. It may have any target, because the target is checked when it is opened.
    pub(super) fn make_link(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        target: &CString,
    ) -> Result<Reply, Unresolved> {
        let entry = self.entry_to_make(this, requested_path, false)?;
        self.access_control.plain_in_git(&entry.path, FileType::Symlink)?;
        rustix::fs::symlinkat(target, &entry.directory, &entry.name)?;
        Ok(Reply::Success)
    }

    /// Checks that an entry may be created and does not exist yet, and returns it.
    pub(super) fn entry_to_make(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        directory: bool,
    ) -> Result<Entry, Unresolved> {
        let entry = requested_path.entry()?;
        if entry.find().is_ok() {
            return Err(Errno::EXIST.into());
        }
        self.check_new(&entry)?;
        let reported = self.access_control.change(this.known, &entry.path, directory)?;
        self.changes.note(&self.access_control.path_classes, &entry.path, None, reported);
        Ok(entry)
    }

    /// Refuses to create an entry at the path of a directory with rights of its own, such as a root, and where
    /// [`SyscallHandlers::check_new_at`] refuses it.
    pub(super) fn check_new(&mut self, entry: &Entry) -> Result<(), Unresolved> {
        self.access_control.whole(&entry.path, None)?;
        self.check_new_at(entry)
    }

    /// Refuses to create an entry in the host's own directories, or with a reserved name.
    pub(super) fn check_new_at(&mut self, entry: &Entry) -> Result<(), Unresolved> {
        let (directory, above) = (&entry.directory, entry.path.parent().unwrap_or(&entry.path));
        let stat = rustix::fs::fstat(directory)?;
        self.access_control.free(&stat, &entry.path)?;
        self.access_control.open_to_all(directory, &stat, above)
    }
}
