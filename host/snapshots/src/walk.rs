//! The entries of a tree, with their metadata.

use std::io;

use cap_fs_ext::{DirExt, MetadataExt as _};
use cap_std::fs::{Dir, Metadata};

use crate::entry::PERMISSIONS;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::path::{MAX_PATH, SnapshotPath, name_bytes};
use crate::stamp::Stamp;

/// Maximum number of skipped entries whose names are reported.
const MAX_SKIPPED: usize = 1000;

/// The entries of some trees, in the order of a manifest.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Listing {
    pub(crate) items: Vec<Item>,
    /// The first 1,000 entries that are neither files, directories nor links.
    pub(crate) skipped: Vec<String>,
    /// Number of such entries.
    pub(crate) skipped_count: u64,
    /// Number of entries whose mode has set-ID or sticky bits.
    pub(crate) special_modes: u64,
    /// Number of files with several hard links.
    pub(crate) hard_links: u64,
    /// Sum of the sizes of all files in bytes.
    bytes: u64,
    /// Device and inode of the store.
    store: Option<(u64, u64)>,
}

/// An entry of a tree.
#[derive(Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) path: SnapshotPath,
    pub(crate) kind: Kind,
    pub(crate) stamp: Stamp,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    Directory,
    File,
    /// A link with this target.
    Link(Vec<u8>),
}

/// Lists trees, each with its name. Fails if the directory `store`, given by its device and inode, is in one of them.
pub(crate) fn list<'t>(
    trees: impl IntoIterator<Item = (&'t str, &'t Dir)>,
    limits: &Limits,
    store: Option<(u64, u64)>,
) -> Result<Listing> {
    let mut listing = Listing { store, ..Listing::default() };
    for (name, dir) in trees {
        let path = SnapshotPath::tree(name);
        let metadata = dir.dir_metadata().map_err(Error::file("read", &path))?;
        listing.add(path.clone(), Kind::Directory, &metadata, limits)?;
        listing.walk(dir, &path, limits)?;
    }
    Ok(listing)
}

impl Listing {
    /// Adds what is in a directory. The depth is bounded by that of a path.
    fn walk(&mut self, dir: &Dir, path: &SnapshotPath, limits: &Limits) -> Result<()> {
        let entries = dir.entries().map_err(Error::file("list", path))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::file("list", path))?;
            names.push(entry.file_name());
            limits.check("take the snapshot", (self.items.len() + names.len()) as u64, 0)?;
        }
        // As the paths of a manifest, by their bytes.
        names.sort_unstable_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
        for name in names {
            let unfit = |cause| Error::file("store", path.to_string())(io::Error::other(cause));
            let below = path.join(&name).map_err(|cause: String| unfit(cause))?;
            let fail = |operation| Error::file(operation, below.to_string());
            let metadata = dir.symlink_metadata(&name).map_err(fail("read"))?;
            if metadata.is_dir() {
                let inner = dir.open_dir_nofollow(&name).map_err(fail("open"))?;
                // The directory that is listed, which another one could have replaced.
                let metadata = inner.dir_metadata().map_err(fail("read"))?;
                self.add(below.clone(), Kind::Directory, &metadata, limits)?;
                self.walk(&inner, &below, limits)?;
            } else if metadata.is_symlink() {
                let target = dir.read_link_contents(&name).map_err(fail("read"))?;
                let target = name_bytes(target.as_os_str()).map_err(unfit)?.into_owned();
                if target.len() > MAX_PATH {
                    return Err(unfit(format!("the target of the link `{below}` has more than {MAX_PATH} bytes")));
                }
                self.add(below, Kind::Link(target), &metadata, limits)?;
            } else if metadata.is_file() {
                self.hard_links += u64::from(metadata.nlink() > 1);
                self.add(below, Kind::File, &metadata, limits)?;
            } else {
                self.skipped_count += 1;
                if self.skipped.len() < MAX_SKIPPED {
                    self.skipped.push(below.to_string());
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, path: SnapshotPath, kind: Kind, metadata: &Metadata, limits: &Limits) -> Result<()> {
        let stamp = Stamp::of(metadata);
        if kind == Kind::Directory && self.store == Some(stamp.identity()) {
            return Err(Error::StoreInTree { path: path.to_string() });
        }
        // Bits beside the permissions and the type of the entry.
        self.special_modes += u64::from(stamp.mode() & 0o7777 & !PERMISSIONS != 0);
        if kind == Kind::File {
            self.bytes = self.bytes.saturating_add(stamp.size);
        }
        self.items.push(Item { path, kind, stamp });
        limits.check("take the snapshot", self.items.len() as u64, self.bytes)
    }
}
