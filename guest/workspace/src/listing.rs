//! Listings of directories for walks.

use paddock_vfs::{Dir, FsResult, Listing};

/// A way to list directories that may know their entries.
pub trait ListDirectory {
    /// Returns all entries of `dir`, as the file system would.
    fn list(&self, dir: &Dir) -> FsResult<Listing>;

    /// Returns the directory `name` in `above`, which may be opened at its first use, and all of its entries.
    fn open(&self, above: &Dir, name: &str) -> FsResult<(Dir, Listing)>;
}
