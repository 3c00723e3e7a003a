//! Listings of directories for walks.

use paddock_vfs::{Dir, FsResult, Listing};

/// A way to list directories that may know their entries.
pub trait ListDirectory {
    /// Returns all entries of `dir`, as the file system would.
    fn list(&self, dir: &Dir) -> FsResult<Listing>;

    /// Returns the directory `name` in `above`, and all of its entries. With `names_only`, the directory may be opened later
    /// if it has only files.
    fn open(&self, above: &Dir, name: &str, names_only: bool) -> FsResult<(Dir, Listing)>;
}
