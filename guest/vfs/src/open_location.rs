//! An entry name in an open directory: the authority for every change.

use paddock_types::entry::Kind;

use crate::bytes::{copy_bytes, digest};
use crate::{Dir, Fault, Filesystem, FsResult, Open};

/// An entry name in an open directory.
#[derive(Clone)]
pub struct OpenLocation {
    /// The directory.
    pub dir: Dir,
    /// The name in it.
    pub name: String,
}

impl OpenLocation {
    /// Returns the location of `name` in the same directory.
    pub fn sibling(&self, name: &str) -> Self {
        Self { dir: self.dir.clone(), name: name.to_owned() }
    }

    /// Returns the permission bits, if the backend knows them.
    pub fn mode(&self, fs: &dyn Filesystem) -> Option<u32> {
        fs.mode(&self.dir, &self.name)
    }

    /// Removes the entry if it exists.
    pub fn discard(&self, fs: &dyn Filesystem) -> FsResult<()> {
        match fs.unlink(&self.dir, &self.name) {
            // A file system that is read-only refuses the removal of a name that does not exist, too.
            Err(_) if fs.stat(&self.dir, &self.name) == Err(Fault::NotFound) => Ok(()),
            other => other,
        }
    }

    /// Copies the content of this file to `to`, durably, as a whole or not at all. Replaces an existing file.
    pub fn copy(&self, fs: &dyn Filesystem, to: &Self) -> FsResult<()> {
        let source = fs.open_file(&self.dir, &self.name, Open::Read)?;
        to.discard(fs)?;
        let target = fs.open_file(&to.dir, &to.name, Open::CreateNew)?;
        let copied = copy_bytes(fs, &source, &target).and_then(|_| fs.sync_file(&target));
        copied.inspect_err(|_| drop(to.discard(fs)))
    }

    /// Overwrites this file in place with the content of `from`, durably.
    pub fn overwrite(&self, fs: &dyn Filesystem, from: &Self) -> FsResult<()> {
        let source = fs.open_file(&from.dir, &from.name, Open::Read)?;
        let target = fs.open_file(&self.dir, &self.name, Open::Write)?;
        let size = copy_bytes(fs, &source, &target)?;
        fs.set_size(&target, size)?;
        fs.sync_file(&target)
    }

    /// Creates the hard link `to` to this file. Fails if `to` exists.
    pub fn link(&self, fs: &dyn Filesystem, to: &Self) -> FsResult<()> {
        fs.link(&self.dir, &self.name, &to.dir, &to.name)
    }

    /// Renames the entry to `to`.
    pub fn rename(&self, fs: &dyn Filesystem, to: &Self) -> FsResult<()> {
        fs.rename(&self.dir, &self.name, &to.dir, &to.name)
    }

    /// Moves the file to the name `to` without replacing an existing entry. The new name is durable before the old name
    /// is removed.
    pub fn move_to_free(&self, fs: &dyn Filesystem, to: &Self) -> FsResult<()> {
        self.link_to_free(fs, to)?;
        let moved = fs.sync_dir(&to.dir).and_then(|()| self.discard(fs));
        moved.inspect_err(|_| drop(self.give_back(fs, to)))
    }

    /// Adds the name `to` to the file without replacing an existing entry. If the file system has no hard links, the
    /// file is renamed instead, and an entry created between the check and the rename is replaced.
    pub fn link_to_free(&self, fs: &dyn Filesystem, to: &Self) -> FsResult<()> {
        match self.link(fs, to) {
            Err(Fault::Unsupported | Fault::Access) => match fs.stat(&to.dir, &to.name) {
                Err(Fault::NotFound) => self.rename(fs, to),
                Ok(_) => Err(Fault::Exists),
                Err(fault) => Err(fault),
            },
            other => other,
        }
    }

    /// Removes the link `to`, or renames it back if the original name no longer exists.
    fn give_back(&self, fs: &dyn Filesystem, to: &Self) -> FsResult<()> {
        match fs.stat(&self.dir, &self.name) {
            Ok(_) => to.discard(fs),
            Err(_) => to.rename(fs, self),
        }
    }

    /// Returns the SHA-256 of the regular file; `None` if the entry does not exist or is not a regular file.
    pub fn digest(&self, fs: &dyn Filesystem) -> FsResult<Option<String>> {
        match fs.stat(&self.dir, &self.name) {
            Ok(stat) if stat.kind == Kind::File => {}
            Ok(_) | Err(Fault::NotFound) => return Ok(None),
            Err(fault) => return Err(fault),
        }
        let file = fs.open_file(&self.dir, &self.name, Open::Read)?;
        digest(fs, &file).map(Some)
    }
}

/// Opens the directory `name` in `dir` and creates it if it does not exist.
pub fn open_or_make(fs: &dyn Filesystem, dir: &Dir, name: &str) -> FsResult<Dir> {
    match fs.open_dir(dir, name) {
        Err(Fault::NotFound) => {
            fs.make_dir(dir, name)?;
            fs.open_dir(dir, name)
        }
        other => other,
    }
}

/// Returns an unpredictable name for a temporary file. Walks leave such names out.
pub fn temporary_name(fs: &dyn Filesystem) -> String {
    format!("{TEMPORARY_PREFIX}{:016x}{TEMPORARY_SUFFIX}", fs.random())
}

/// Returns a temporary name that asks hosts that set permission bits for a file with rights for its owner only: the
/// file may replace or become a private file, so it must be private before it gets its final name.
pub fn private_name(fs: &dyn Filesystem) -> String {
    format!("{TEMPORARY_PREFIX}{:016x}{PRIVATE}{TEMPORARY_SUFFIX}", fs.random())
}

/// Returns whether `name` has the form of [`temporary_name`] or [`private_name`].
pub fn is_temporary(name: &str) -> bool {
    let digits = name.strip_prefix(TEMPORARY_PREFIX).and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX));
    let digits = digits.map(|digits| digits.strip_suffix(PRIVATE).unwrap_or(digits));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

const TEMPORARY_PREFIX: &str = ".paddock-";
const TEMPORARY_SUFFIX: &str = ".tmp";
const PRIVATE: &str = ".private";
