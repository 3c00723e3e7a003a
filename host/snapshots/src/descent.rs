//! Directories of trees, opened name by name, without following a link.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, OpenOptions};

use crate::path::{SnapshotPath, os_name};

/// The open directories of several trees. The directories on the path of the last entry stay open, because entries that
/// follow each other are mostly in one directory.
pub(crate) struct Descent {
    trees: HashMap<Vec<u8>, Dir>,
    tree: Vec<u8>,
    open: Vec<(Vec<u8>, Dir)>,
}

impl Descent {
    pub(crate) fn new(trees: impl IntoIterator<Item = (String, Dir)>) -> Self {
        let trees = trees.into_iter().map(|(name, dir)| (name.into_bytes(), dir)).collect();
        Self { trees, tree: Vec::new(), open: Vec::new() }
    }

    /// Closes the directories below the trees, which another program may have replaced.
    pub(crate) fn reset(&mut self) {
        self.open.clear();
    }

    /// Adds a tree.
    pub(crate) fn add(&mut self, name: &[u8], dir: Dir) {
        self.trees.insert(name.to_vec(), dir);
    }

    /// Returns the directory that contains the entry, and the entry's name. The path has at least two names.
    pub(crate) fn parent(&mut self, path: &SnapshotPath) -> io::Result<(&Dir, OsString)> {
        let name = path.name().map_err(io::Error::other)?;
        let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?.to_vec();
        Ok((self.directory(&parent)?, name))
    }

    /// Returns the directory at the path.
    pub(crate) fn directory(&mut self, path: &[u8]) -> io::Result<&Dir> {
        let mut names = path.split(|byte| *byte == b'/');
        let tree = names.next().unwrap_or_default();
        let names: Vec<_> = names.collect();
        if self.tree != tree {
            self.open.clear();
            self.tree = tree.to_vec();
        }
        let common = self.open.iter().zip(&names).take_while(|((open, _), name)| open == *name).count();
        self.open.truncate(common);
        let top = self.trees.get(tree).ok_or(io::ErrorKind::NotFound)?;
        for name in names.into_iter().skip(common) {
            let above = self.open.last().map_or(top, |(_, dir)| dir);
            let dir = above.open_dir_nofollow(os_name(name).map_err(io::Error::other)?)?;
            self.open.push((name.to_vec(), dir));
        }
        Ok(self.open.last().map_or(top, |(_, dir)| dir))
    }
}

/// Opens a file for reading. Fails for a link, and waits for no writer of a FIFO.
pub(crate) fn open_file(dir: &Dir, name: &OsStr) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = dir.open_with(name, &options)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
    }
    Ok(file)
}

/// Opens a directory again, for calls of the system that take no descriptor without access (`O_PATH`), as those of [`Dir`]
/// are on Linux.
#[cfg(unix)]
pub(crate) fn readable(dir: &Dir) -> io::Result<std::os::fd::OwnedFd> {
    use rustix::fs::{Mode, OFlags, openat};

    Ok(openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Returns whether an error of opening an entry shows that another program replaced or removed the entry.
pub(crate) fn is_change(cause: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound};

    #[cfg(unix)]
    if cause.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return true;
    }
    matches!(cause.kind(), InvalidData | IsADirectory | NotADirectory | NotFound)
}

/// Creates a file that only its owner can read. Fails if there is an entry of this name.
pub(crate) fn create_file(dir: &Dir, name: &OsStr) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
    dir.open_with(name, &options)
}

/// Creates a directory that only its owner can enter. Fails if there is an entry of this name.
pub(crate) fn create_directory(dir: &Dir, name: &OsStr) -> io::Result<()> {
    #[cfg_attr(windows, expect(unused_mut, reason = "Windows has no modes"))]
    let mut options = cap_std::fs::DirBuilder::new();
    #[cfg(unix)]
    cap_std::fs::DirBuilderExt::mode(&mut options, 0o700);
    dir.create_dir_with(name, &options)
}
