//! Content of a file: in memory, or as a range of a stored file, so that a change need not load content that it only
//! moves.

use std::cell::OnceCell;

use paddock_types::digest::{etag_of, hex, sha256};
use sha2::{Digest, Sha256};

use crate::bytes::each_part;
use crate::open_location::OpenLocation;
use crate::{Fault, File, Filesystem, FsResult, Open};

/// The content of a file, current or planned.
#[derive(Clone)]
pub enum FileContent {
    /// Content in memory, with its SHA-256 once that is known.
    Bytes(Vec<u8>, OnceCell<String>),
    /// A range of a stored file, read again each time.
    FileRange(FileRange),
}

/// A range of a file.
#[derive(Clone)]
pub struct FileRange {
    location: OpenLocation,
    start: u64,
    size: u64,
    sha256: String,
    mode: Mode,
}

impl From<Vec<u8>> for FileContent {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes, OnceCell::new())
    }
}

impl PartialEq for FileContent {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bytes(these, _), Self::Bytes(those, _)) => these == those,
            _ => self.size() == other.size() && self.sha256() == other.sha256(),
        }
    }
}

/// The mode of a new file with the content of a stored one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// That of any new file.
    OfNewFile,
    /// That of the stored file, which the host transfers when it refuses a rename to that file. The file must be in a
    /// read-only root: elsewhere the rename would replace it.
    Lent,
    /// That of the stored file, if the backend reports and sets modes.
    Copied,
}

impl FileContent {
    /// Describes `size` bytes from `start` of the regular file at `location`, or fewer if the file ends before.
    pub fn stored(fs: &dyn Filesystem, location: OpenLocation, start: u64, size: u64) -> FsResult<Self> {
        let file = fs.open_file(&location.dir, &location.name, Open::Read)?;
        let mut hash = Sha256::new();
        let size = each_part(fs, &file, start, size, |_, part| {
            hash.update(part);
            Ok(())
        })?;
        Ok(Self::FileRange(FileRange { location, start, size, sha256: hex(&hash.finalize()), mode: Mode::OfNewFile }))
    }

    /// Describes the whole regular file at `location`, whose size and SHA-256 are known, and the mode of a new file with
    /// this content.
    pub fn known(location: OpenLocation, size: u64, sha256: String, mode: Mode) -> Self {
        Self::FileRange(FileRange { location, start: 0, size, sha256, mode })
    }

    /// Transfers the mode of the content to the new file at `to`.
    pub fn give_mode(&self, fs: &dyn Filesystem, to: &OpenLocation) {
        let Self::FileRange(FileRange { location, mode, .. }) = self else { return };
        match mode {
            Mode::OfNewFile => {}
            Mode::Lent => drop(to.rename(fs, location)),
            Mode::Copied => drop(location.mode(fs).map(|mode| fs.set_mode(&to.dir, &to.name, mode))),
        }
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Bytes(bytes, _) => bytes.len() as u64,
            Self::FileRange(stored) => stored.size,
        }
    }

    /// Returns the SHA-256 in hexadecimal. Content in memory is hashed at most once.
    pub fn sha256(&self) -> &str {
        match self {
            Self::Bytes(bytes, digest) => digest.get_or_init(|| sha256(bytes)),
            Self::FileRange(stored) => &stored.sha256,
        }
    }

    /// Returns the etag.
    pub fn etag(&self) -> String {
        etag_of(self.sha256())
    }

    /// Writes the content to an open file, starting at `offset`. Fails if the stored file has changed since.
    pub fn write(&self, fs: &dyn Filesystem, to: &File, offset: u64) -> FsResult<()> {
        match self {
            Self::Bytes(bytes, _) => fs.write(to, offset, bytes),
            Self::FileRange(stored) => stored.each_part(fs, |at, part| fs.write(to, offset + at, part)),
        }
    }

    /// Returns the content, loaded into memory.
    pub fn load(&self, fs: &dyn Filesystem) -> FsResult<Self> {
        let Self::FileRange(stored) = self else { return Ok(self.clone()) };
        let mut bytes = Vec::new();
        stored.each_part(fs, |_, part| {
            bytes.extend_from_slice(part);
            Ok(())
        })?;
        Ok(bytes.into())
    }
}

impl FileRange {
    fn each_part(&self, fs: &dyn Filesystem, mut take: impl FnMut(u64, &[u8]) -> FsResult<()>) -> FsResult<()> {
        let file = fs.open_file(&self.location.dir, &self.location.name, Open::Read)?;
        let mut hash = Sha256::new();
        each_part(fs, &file, self.start, self.size, |at, part| {
            hash.update(part);
            take(at, part)
        })?;
        match hex(&hash.finalize()) == self.sha256 {
            true => Ok(()),
            false => Err(Fault::Io("it was changed while it was copied".to_owned())),
        }
    }
}

impl OpenLocation {
    /// Creates a file with this content, durably.
    pub fn create(&self, fs: &dyn Filesystem, content: &FileContent) -> FsResult<()> {
        let file = fs.open_file(&self.dir, &self.name, Open::CreateNew)?;
        content.write(fs, &file, 0)?;
        fs.sync_file(&file)
    }

    /// Overwrites this file in place with `old`, durably.
    pub fn restore(&self, fs: &dyn Filesystem, old: &FileContent) -> FsResult<()> {
        let file = fs.open_file(&self.dir, &self.name, Open::Write)?;
        old.write(fs, &file, 0)?;
        fs.set_size(&file, old.size())?;
        fs.sync_file(&file)
    }

    /// Creates this file with `content` and renames it to `to`, durably: after a crash `to` has its former content or all
    /// of the new content. Removes this file if a step fails.
    pub fn publish(&self, fs: &dyn Filesystem, content: &FileContent, to: &Self) -> FsResult<()> {
        let published = self.create(fs, content).and_then(|()| {
            self.rename(fs, to)?;
            fs.sync_dir(&to.dir)
        });
        published.inspect_err(|_| drop(self.discard(fs)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_in_memory_is_hashed_once() {
        let content = FileContent::from(b"a".to_vec());
        assert_eq!((content.sha256(), content.etag()), (sha256(b"a").as_str(), paddock_types::digest::etag(b"a")));
        assert!(std::ptr::eq(content.sha256(), content.sha256()));
        assert!(matches!(content.clone(), FileContent::Bytes(_, digest) if digest.get().is_some()));
    }
}
