//! Directories that the host opens once and holds.
//!
//! All operations in such a directory use its descriptor. The path is followed once, when the workspace opens: a
//! process that later renames, replaces or links an entry on that path does not redirect the operations.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, File, Metadata, OpenOptions};
use paddock_policy::Access;
use wasmtime_wasi::filesystem::Dir as GuestDir;
use wasmtime_wasi::{FsPerms, OpenMode};

use crate::regular::Refused;

mod deferred;
mod held;
mod held_entry;
mod one_descriptor;
mod walk;

pub(crate) use deferred::Deferred;
use held::Held;
pub(crate) use held_entry::HeldEntry;
pub(crate) use walk::Walk;

/// Device and inode number, which identify a file or directory whatever path leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    #[cfg(unix)]
    pub(crate) fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    pub(crate) fn device(self) -> u64 {
        self.device
    }

    pub(crate) fn inode(self) -> u64 {
        self.inode
    }

    /// Returns the identity of an open file.
    pub(crate) fn of_file(file: &std::fs::File) -> io::Result<Self> {
        Ok(Self::of(&Metadata::from_file(file)?))
    }

    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// A directory that is held open. Clones hold the same descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Directory(Arc<Held>);

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Directory").field("path", &self.path).field("identity", &self.identity).finish()
    }
}

impl Directory {
    /// Opens the directory at `path` and follows links.
    #[cfg(test)]
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Walk::new(path)?.end()
    }

    /// Creates the value for an open directory, with the path to display. The descriptor is the caller's, with the caller's
    /// rights, and so is not exchanged for that of another value.
    #[cfg(target_os = "linux")]
    pub(crate) fn from_file(file: std::fs::File, path: PathBuf) -> io::Result<Self> {
        let dir = Dir::from_std_file(file);
        let ancestors = climb(&dir)?;
        Ok(Self(Arc::new(Held::new(dir, ancestors, path)?)))
    }

    /// Opens a caller's open directory again, because listing must not move the position of the caller's descriptor.
    /// Fails if the kernel's path of the directory leads elsewhere, as for a deleted directory or one outside this
    /// process's root.
    #[cfg(target_os = "linux")]
    pub(crate) fn reopen(file: &std::fs::File) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags, openat};

        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = std::fs::File::from(openat(file, ".", flags, Mode::empty())?);
        let number = std::os::fd::AsRawFd::as_raw_fd(&opened);
        let path = std::fs::read_link(format!("/proc/self/fd/{number}"))?;
        let named = Walk::new(&path)?.end()?;
        let directory = Self::from_file(opened, path)?;
        match named.identity() == directory.identity() && named.ancestors() == directory.ancestors() {
            true => Ok(directory),
            false => Err(io::Error::other("its path is another directory's")),
        }
    }

    fn new(dir: Dir, ancestors: Vec<Identity>, path: PathBuf) -> io::Result<Self> {
        Ok(Self(Held::new(dir, ancestors, path)?.shared()))
    }

    pub(crate) fn identity(&self) -> Identity {
        self.0.identity
    }

    /// Returns the directories above it when it was opened, the outermost first.
    pub(crate) fn ancestors(&self) -> &[Identity] {
        &self.0.ancestors
    }

    /// Returns the path without links when it was opened, for display and comparison. The path is never used to open a
    /// file.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns whether the directory is `other`, or was below `other` when it was opened.
    pub(crate) fn is_in(&self, other: Identity) -> bool {
        self.0.identity == other || self.0.ancestors.contains(&other)
    }

    /// Returns the number of its mount, if the system tells it.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    pub(crate) fn mount(&self) -> Option<u64> {
        self.0.mount
    }

    pub(crate) fn metadata(&self) -> io::Result<std::fs::Metadata> {
        self.0.dir.guest().dir.metadata()
    }

    /// Returns the descriptor.
    #[cfg(target_os = "linux")]
    pub(crate) fn file(&self) -> &Arc<std::fs::File> {
        &self.0.dir.guest().dir
    }

    /// Opens the directory at these names, each in the directory before. A link is an error.
    pub(crate) fn descend<'n>(&self, names: impl IntoIterator<Item = &'n OsStr>) -> io::Result<Self> {
        names.into_iter().try_fold(self.clone(), |directory, name| directory.subdirectory(name))
    }

    /// Returns whether the directory was deleted.
    pub(crate) fn is_deleted(&self) -> bool {
        self.0.dir.dir_metadata().is_ok_and(|metadata| metadata.nlink() == 0)
    }

    /// Returns the directory in the form for guests, with the given rights.
    pub(crate) fn for_guest(&self, access: Access) -> GuestDir {
        let mut dir = self.0.dir.guest().clone();
        if access == Access::ReadOnly {
            (dir.perms, dir.open_mode) = (FsPerms::ReadOnly, OpenMode::READ);
        }
        dir
    }

    /// Returns the parent directory and the name of this directory in it; `None` at the top of the file system.
    fn parent(&self) -> Option<(Self, OsString)> {
        let (ancestors, name) = (self.0.ancestors.split_last()?.1.to_vec(), self.0.path.file_name()?.to_owned());
        let above = self.0.dir.open_parent_dir(ambient_authority()).ok()?;
        let above = Self::new(above, ancestors, self.0.path.parent()?.to_owned()).ok()?;
        (above.identity_of(&name) == Some(self.0.identity)).then_some((above, name))
    }

    /// Returns the handle for operations on its entries by name. A name never leads out of the directory.
    pub(crate) fn entries(&self) -> &Dir {
        &self.0.dir
    }

    /// Opens the directory `name` in it. A link is an error.
    pub(crate) fn subdirectory(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        let dir = self.0.dir.open_dir_nofollow(name)?;
        let ancestors = self.0.ancestors.iter().copied().chain([self.0.identity]).collect();
        Self::new(dir, ancestors, self.0.path.join(name))
    }

    /// Opens the directory `name` in it, and creates it with rights for its owner only if it does not exist.
    pub(crate) fn create_subdirectory(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        match self.0.dir.create_dir_with(name, &private_directory()) {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => Err(cause),
            _ => self.subdirectory(name),
        }
    }

    /// Opens the file `name` in it. A link is an error.
    pub(crate) fn open_file(&self, name: impl AsRef<OsStr>, options: &mut OpenOptions) -> io::Result<std::fs::File> {
        let opened = self.0.dir.open_with(name.as_ref(), options.follow(FollowSymlinks::No));
        opened.map(File::into_std)
    }

    /// Opens the regular file `name` in it. A FIFO is an error and does not block the caller.
    pub(crate) fn open_regular(&self, name: &OsStr, options: &mut OpenOptions) -> Result<std::fs::File, Refused> {
        let file = self.open_file(name, options.nonblock(true))?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(Refused::NotRegular) }
    }

    /// Returns the names in it.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        self.0.dir.entries()?.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Returns the names in the directory `name` in it. A link is an error. This takes four system calls for a small
    /// directory, a quarter of what opening it as a `Directory` takes.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    pub(crate) fn names_in(&self, name: &OsStr) -> io::Result<Vec<OsString>> {
        use rustix::fs::{Dir, Mode, OFlags, openat};

        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entries = Dir::new(openat(self.file(), name, flags, Mode::empty())?)?;
        let name = |entry: rustix::io::Result<rustix::fs::DirEntry>| {
            let name = entry?.file_name().to_owned();
            Ok(std::os::unix::ffi::OsStringExt::from_vec(name.into_bytes()))
        };
        entries.map(name).collect()
    }

    /// Opens an entry so that no other file gets its identity.
    pub(crate) fn hold(&self, name: impl AsRef<OsStr>) -> io::Result<HeldEntry> {
        HeldEntry::open(&self.0.dir, name.as_ref())
    }

    /// Returns the identity of an entry, without following a link; `None` if the entry does not exist.
    pub(crate) fn identity_of(&self, name: impl AsRef<OsStr>) -> Option<Identity> {
        self.0.dir.symlink_metadata(name.as_ref()).ok().map(|metadata| Identity::of(&metadata))
    }
}

/// Returns `None` if no directory has the name that was to be opened. Any other failure may hide what is in it.
pub(crate) fn found<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Returns the directories that are now above a directory, the outermost first.
#[cfg(target_os = "linux")]
fn climb(dir: &Dir) -> io::Result<Vec<Identity>> {
    let mut ancestors = std::collections::VecDeque::new();
    let mut identity = Identity::of(&dir.dir_metadata()?);
    let mut above = dir.open_parent_dir(ambient_authority())?;
    loop {
        let next = Identity::of(&above.dir_metadata()?);
        // The root directory is its own parent.
        if next == identity {
            return Ok(ancestors.into());
        }
        ancestors.push_front(next);
        (identity, above) = (next, above.open_parent_dir(ambient_authority())?);
    }
}

/// Returns options to create a directory with rights for its owner only.
pub(crate) fn private_directory() -> DirBuilder {
    #[cfg_attr(windows, expect(unused_mut, reason = "Windows has no modes"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Returns options to open a file for writing. A new file has rights for its owner only.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true);
    options
}

#[cfg(test)]
mod tests;
