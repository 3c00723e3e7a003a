//! The file system interface that every backend implements. Operations are relative to an open directory, take a single
//! name, and never follow a link. The interface has the shape of `wasi:filesystem`, so that the `wasi` backend is a
//! thin layer and any other backend can replace it.
//!
//! Names are single components: no `/`, not empty, not `.` or `..`. The `workspace` crate resolves paths and passes no
//! path to a backend. `guest/BACKENDS.md` lists the other promises of a backend, and how to add and test one.

use std::any::Any;
use std::rc::Rc;

pub use crate::fault::{Fault, FsResult};
pub use paddock_types::entry::{Kind, Time};

pub mod bytes;
pub mod checkpoint;
pub mod content;
pub mod copy_remove;
pub mod fault;
pub mod memory;
pub mod memory_tar;
pub mod open_location;
pub mod overlay;
#[cfg(target_family = "wasm")]
pub mod wasi;

/// One or several file systems, accessed through directory handles.
///
/// A handle closes when its last clone is dropped. It refers to the same directory or file even if the name is changed
/// or removed.
pub trait Filesystem {
    /// Returns the preopened directories, in the order of the host.
    fn preopens(&self) -> Vec<Preopen>;

    /// Opens the directory `name` in `dir`; a link there is [`Fault::Link`] or [`Fault::NotDirectory`].
    fn open_dir(&self, dir: &Dir, name: &str) -> FsResult<Dir>;

    /// Opens the regular file `name` in `dir`. A link fails with [`Fault::Link`], and any other entry with
    /// [`Fault::NotRegular`] or [`Fault::IsDirectory`].
    fn open_file(&self, dir: &Dir, name: &str, mode: Open) -> FsResult<File>;

    /// Returns all entries of `dir`, in no particular order.
    fn list(&self, dir: &Dir) -> FsResult<Listing>;

    /// Returns the metadata of `name` in `dir`; for a link, of the link itself.
    fn stat(&self, dir: &Dir, name: &str) -> FsResult<Stat>;

    /// Returns the metadata of an open file.
    fn stat_file(&self, file: &File) -> FsResult<Stat>;

    /// Returns the metadata of an open directory.
    fn stat_dir(&self, dir: &Dir) -> FsResult<Stat>;

    /// Returns whether two handles refer to the same directory.
    fn is_same_dir(&self, dir: &Dir, other: &Dir) -> FsResult<bool>;

    /// Returns the stamp of the regular file `name` in `dir`, or that of a directory as [`Self::stamp_dir`] does: two equal
    /// stamps of a file mean the same content, if the first one was
    /// taken more than 2 seconds after the last change. Returns `None` if the backend or the file system does not change
    /// the stamp with every change.
    fn stamp(&self, dir: &Dir, name: &str) -> Option<[u64; 2]> {
        let _ = (dir, name);
        None
    }

    /// Returns the stamp of a directory: two equal stamps mean that the directory has the same names and types of entries,
    /// under the same conditions as for [`Self::stamp`].
    fn stamp_dir(&self, dir: &Dir) -> Option<[u64; 2]> {
        let _ = dir;
        None
    }

    /// Returns the directory `name` in `dir` with its stamp, without opening it. Its first use opens it, and fails with
    /// [`Fault::Gone`] if the directory has another stamp then. Returns `None` where [`Self::stamp_dir`] does, and if there is
    /// no directory.
    fn unopened_dir(&self, dir: &Dir, name: &str) -> Option<(Dir, [u64; 2])> {
        let opened = self.open_dir(dir, name).ok()?;
        let stamp = self.stamp_dir(&opened)?;
        Some((opened, stamp))
    }

    /// Has the file `name` in `dir` no longer change when another process changes the directory below an overlay, which copies
    /// the file. Other backends do nothing.
    fn pin(&self, dir: &Dir, name: &str) -> FsResult<()> {
        let _ = (dir, name);
        Ok(())
    }

    /// Returns the target of the link `name` in `dir`. Fails with [`Fault::Outside`] if the backend hides it, as WASI hides
    /// absolute targets.
    fn read_link(&self, dir: &Dir, name: &str) -> FsResult<String>;

    /// Reads at most `max` bytes at `offset` and appends them to `into`; the number read, 0 only at the end.
    fn read(&self, file: &File, offset: u64, max: usize, into: &mut Vec<u8>) -> FsResult<usize>;

    /// Writes all of `bytes` at `offset`.
    fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> FsResult<()>;

    /// Truncates or extends the file to `size` bytes.
    fn set_size(&self, file: &File, size: u64) -> FsResult<()>;

    /// Makes the file's content durable.
    fn sync_file(&self, file: &File) -> FsResult<()>;

    /// Makes the names in the directory durable.
    fn sync_dir(&self, dir: &Dir) -> FsResult<()>;

    /// Creates the directory `name` in `dir`. Fails with [`Fault::Exists`] if the name exists.
    fn make_dir(&self, dir: &Dir, name: &str) -> FsResult<()>;

    /// Creates a second name for the file or link `name`. Fails with [`Fault::Exists`] if the new name exists.
    fn link(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()>;

    /// Creates the symbolic link `name` in `dir` with the given target. Fails with [`Fault::Exists`] if the name
    /// exists.
    fn symlink(&self, dir: &Dir, name: &str, target: &str) -> FsResult<()>;

    /// Renames, replacing a file or an empty directory at the new name.
    fn rename(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()>;

    /// Removes the name of a file or link.
    fn unlink(&self, dir: &Dir, name: &str) -> FsResult<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Dir, name: &str) -> FsResult<()>;

    /// Removes a directory with all its entries in one visible step. Fails with [`Fault::Unsupported`] if the backend
    /// can remove entries only one by one.
    fn remove_tree(&self, dir: &Dir, name: &str) -> FsResult<()> {
        let _ = (dir, name);
        Err(Fault::Unsupported)
    }

    /// Returns the permission bits of `name` in `dir`, if the backend reports them.
    fn mode(&self, dir: &Dir, name: &str) -> Option<u32> {
        let _ = (dir, name);
        None
    }

    /// Sets the permission bits of the file or directory `name`. A backend that does not report permission bits does
    /// not set them.
    fn set_mode(&self, dir: &Dir, name: &str, mode: u32) -> FsResult<()> {
        let _ = (dir, name, mode);
        Ok(())
    }

    /// Returns random bits for names that cannot be guessed.
    fn random(&self) -> u64;

    /// Returns the milliseconds of a monotonic clock.
    fn clock_ms(&self) -> u64;

    /// Returns the wall-clock time.
    fn now(&self) -> Time;
}

/// An open directory. Only the backend knows the type of the content.
#[derive(Clone)]
pub struct Dir(pub Rc<dyn Any>);

/// An open regular file.
#[derive(Clone)]
pub struct File(pub Rc<dyn Any>);

/// A preopened directory.
#[derive(Clone)]
pub struct Preopen {
    /// Guest path: an absolute path, or `.`.
    pub guest_path: String,
    /// The directory.
    pub dir: Dir,
}

/// Mode of opening a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// Open for reading.
    Read,
    /// Open for reading and for writing in place.
    Write,
    /// For writing, as a new file. Fails with [`Fault::Exists`] if the name exists.
    CreateNew,
}

/// All entries of a directory.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Entries whose name is UTF-8.
    pub entries: Vec<DirEntry>,
    /// Number of names that are not UTF-8.
    pub unnamed: u64,
    /// Number of entries that the file system failed to return.
    pub unreadable: u64,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Name, one component.
    pub name: String,
    /// Type of the entry.
    pub kind: Kind,
}

/// Metadata of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Type of the entry.
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    /// Hard links to it.
    pub links: u64,
    /// Time of the last change of the content.
    pub modified: Option<Time>,
    /// Time of the last read.
    pub accessed: Option<Time>,
    /// Time of the last change of the metadata.
    pub changed: Option<Time>,
}

/// The guest path at which a host preopens the state directory.
pub const STATE_GUEST_PATH: &str = "/paddock-state";

/// The guest path at which a host preopens the directory of an overlay.
pub const OVERLAY_GUEST_PATH: &str = "/paddock-overlay";

/// Number of bytes requested by one read. A larger block would no longer be in the processor's cache when it is
/// processed. Some hosts return fewer bytes per call.
pub const READ_SIZE: usize = 256 * 1024;

/// Largest offset that every host supports: JavaScript numbers lose precision above 2^53.
pub const MAX_OFFSET: u64 = 1 << 53;
