//! Records the files on disk, to detect changes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// All entries below a directory: names, kinds, modes, modification times and contents.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Witness(BTreeMap<PathBuf, Entry>);

#[derive(PartialEq, Eq)]
struct Entry {
    mode: u32,
    modified: (i64, i64),
    content: Vec<u8>,
}

impl Witness {
    /// Records the entries below `top`, except the paths `without` and all entries below them. Opens only regular
    /// files and directories.
    pub(crate) fn record(top: &Path, without: &[&Path]) -> io::Result<Self> {
        let mut entries = BTreeMap::new();
        inspect(top, without, &mut entries)?;
        Ok(Self(entries))
    }

    /// Returns the first path that differs from `before`.
    pub(crate) fn changed_since<'w>(&'w self, before: &'w Self) -> Option<&'w Path> {
        let other = |(path, entry): &(&PathBuf, &Entry)| before.0.get(*path) != Some(*entry);
        let changed = self.0.iter().find(other).map(|(path, _)| path);
        changed.or_else(|| before.0.keys().find(|path| !self.0.contains_key(*path))).map(PathBuf::as_path)
    }

    /// Returns the first entry whose content matches the predicate.
    pub(crate) fn find(&self, is_such: impl Fn(&[u8]) -> bool) -> Option<&Path> {
        self.0.iter().find(|(_, entry)| is_such(&entry.content)).map(|(path, _)| path.as_path())
    }
}

impl FromIterator<Witness> for Witness {
    fn from_iter<W: IntoIterator<Item = Self>>(witnesses: W) -> Self {
        Self(witnesses.into_iter().flat_map(|witness| witness.0).collect())
    }
}

fn inspect(path: &Path, without: &[&Path], entries: &mut BTreeMap<PathBuf, Entry>) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    let kind = metadata.file_type();
    let content = if kind.is_file() {
        fs::read(path)?
    } else if kind.is_symlink() {
        fs::read_link(path)?.into_os_string().into_encoded_bytes()
    } else {
        Vec::new()
    };
    let modified = (metadata.mtime(), metadata.mtime_nsec());
    entries.insert(path.to_owned(), Entry { mode: metadata.mode(), modified, content });
    if kind.is_dir() {
        for entry in fs::read_dir(path)? {
            let path = entry?.path();
            if !without.contains(&path.as_path()) {
                inspect(&path, without, entries)?;
            }
        }
    }
    Ok(())
}
