//! Snapshots are restored: first into a temporary sibling of the destination, where each file is compared with its digest.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::task::spawn_blocking;

use crate::destination::Destination;
use crate::digest::Digest;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::location::check_name;
use crate::manifest::{self, MAX_BYTES};
use crate::object::manifest_key;
use crate::path::SnapshotPath;
use crate::store::Store;
use crate::writer::{Writer, make_removable, restore_file, set_mode};

/// Number of files that are read from the store at once.
const AT_ONCE: usize = 16;

/// A snapshot in a temporary directory beside the destination. Every file has its digest. Dropping it removes the
/// directory, with all trees that were not committed.
#[derive(Debug)]
pub struct Staged {
    destination: Destination,
    name: OsString,
    dir: Dir,
    entries: Arc<Vec<Entry>>,
    /// Number of files.
    pub files: u64,
    /// Sum of the sizes of all files in bytes.
    pub bytes: u64,
    /// Time at which the snapshot was begun, in the form of RFC 3339.
    pub created: String,
}

/// Reads the snapshot `name` into a temporary sibling of the destination. With `expected`, the manifest has to have this
/// digest, so that the store cannot replace the snapshot.
///
/// # Errors
///
/// [`Error::Missing`] if the store has no such snapshot, [`Error::Manifest`] and [`Error::Object`] if the store contains
/// another thing than was stored, and [`Error::Limit`] if the snapshot is too large. Nothing remains then.
pub async fn stage(
    store: &Store,
    name: &str,
    destination: Destination,
    limits: &Limits,
    expected: Option<Digest>,
) -> Result<Staged> {
    check_name(name)?;
    let bytes = store.get_bytes(&manifest_key(name), MAX_BYTES).await?;
    let bytes = bytes.ok_or_else(|| Error::Missing { name: name.to_owned() })?;
    let actual = Digest::of(&bytes);
    if let Some(expected) = expected.filter(|expected| *expected != actual) {
        return Err(Error::Digest { expected: expected.to_string(), actual: actual.to_string() });
    }
    let manifest = manifest::parse(name, &bytes, limits)?;
    drop(bytes);
    let (name, dir) = destination.create_sibling()?;
    let (entries, created) = (Arc::new(manifest.entries), manifest.header.created);
    let files = entries.iter().filter(|entry| matches!(entry, Entry::File { .. })).count() as u64;
    let bytes = manifest.header.bytes;
    // From here on, dropping it removes the directory.
    let mut staged = Staged { destination, name, dir, entries, files, bytes, created };
    staged.fill(store).await?;
    Ok(staged)
}

impl Staged {
    /// Returns the directory of a tree that was not committed; `None` if the snapshot has no such tree.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if the directory cannot be opened.
    pub fn tree(&self, tree: &str) -> Result<Option<Dir>> {
        match self.dir.open_dir_nofollow(tree) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            dir => dir.map(Some).map_err(Error::file("open", tree)),
        }
    }

    /// Moves a tree to the destination, by one rename. Returns the path of the destination and the directory.
    ///
    /// # Errors
    ///
    /// [`Error::Destination`] if the snapshot has no such tree, or if something appeared at the destination meanwhile.
    pub fn commit(&mut self, tree: &str) -> Result<(PathBuf, Dir)> {
        let path = self.destination.path().to_owned();
        let Some(dir) = self.tree(tree)? else {
            let cause = format!("the snapshot has no tree `{tree}`");
            return Err(Error::Destination { path: path.display().to_string(), cause });
        };
        self.destination.replace(&self.dir, tree)?;
        let top = SnapshotPath::tree(tree);
        if let Some(entry) = self.entries.iter().find(|entry| *entry.path() == top) {
            // A directory without permission to write cannot be moved to another one.
            set_mode(&dir, entry.mode()).map_err(Error::file("change the mode of", path.display()))?;
        }
        Ok((path, dir))
    }

    /// Writes all entries.
    async fn fill(&mut self, store: &Store) -> Result<()> {
        let writer = Arc::new(Writer::new(&self.dir)?);
        let (create, entries) = (writer.clone(), self.entries.clone());
        spawn_blocking(move || entries.iter().try_for_each(|entry| create.create(entry))).await??;
        let files: Vec<_> = self.entries.iter().filter(|entry| matches!(entry, Entry::File { .. })).cloned().collect();
        let (source, target) = (store.clone(), writer.clone());
        let contents = stream::iter(files).map(move |entry| restore_file(source.clone(), target.clone(), entry));
        contents.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        let entries = self.entries.clone();
        spawn_blocking(move || writer.finish(&entries)).await?
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.destination.remove_sibling(&self.name).is_err() {
            // A restored directory need not permit its owner to remove what is in it.
            let _ = make_removable(&self.dir).and_then(|()| self.destination.remove_sibling(&self.name));
        }
    }
}
