//! Snapshots are taken, damaged and restored.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tempfile::TempDir;

use crate::{Destination, Digest, Error, Limits, Location, Options, Report, Result, StatCache, Store, create, stage};

mod changes;
mod extremes;
mod faulty;
mod forged;
mod garbage;
mod links;
mod races;
mod round_trip;

/// Name of the tree in the tests.
const TREE: &str = "workspace";

/// A tree, a store and a place for restored trees, in one temporary directory.
struct Fixture {
    home: TempDir,
    store: Store,
    tree: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let location: Location = home.path().join("store").to_str().unwrap().parse().unwrap();
        let store = Store::open(&location, true).unwrap();
        let tree = home.path().join("tree");
        fs::create_dir(&tree).unwrap();
        Self { home, store, tree }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes a file of the tree, a minute old, so that the cache trusts its stamp later.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.tree.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }

    fn trees(&self) -> Vec<(String, Dir)> {
        vec![(TREE.to_owned(), Dir::open_ambient_dir(&self.tree, ambient_authority()).unwrap())]
    }

    async fn snapshot(&self, name: &str) -> Result<Report> {
        self.snapshot_with(&self.store, name, StatCache::default()).await
    }

    async fn snapshot_with(&self, store: &Store, name: &str, cache: StatCache) -> Result<Report> {
        let options = Options { cache, ..Options::default() };
        create(store, Some(name), self.trees(), options).await.map(|(_, report)| report)
    }

    async fn restore(&self, name: &str) -> Result<PathBuf> {
        self.restore_with(name, &Limits::default(), None).await
    }

    async fn restore_with(&self, name: &str, limits: &Limits, digest: Option<Digest>) -> Result<PathBuf> {
        let destination = Destination::open(&self.path("restored"))?;
        let mut staged = stage(&self.store, name, destination, limits, digest).await?;
        staged.commit(TREE).map(|(path, _)| path)
    }

    /// Returns what is in the directory of the restored tree: after a failure, nothing but the tree and the store.
    fn leftovers(&self) -> Vec<String> {
        let names = fs::read_dir(self.home.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name != "tree" && name != "store");
        names.sort();
        names
    }

    /// Returns the path of the only object with this content.
    fn object(&self, content: &[u8]) -> PathBuf {
        self.path("store").join(crate::object::object_key(&Digest::of(content)))
    }

    fn objects(&self) -> usize {
        let folders = fs::read_dir(self.path("store/objects")).unwrap();
        folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
    }
}

/// Describes a tree: each path with its type, mode, time and content.
fn describe(top: &Path) -> Vec<String> {
    fn walk(top: &Path, directory: &Path, lines: &mut Vec<String>) {
        let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let metadata = path.symlink_metadata().unwrap();
            let content = match () {
                () if metadata.is_symlink() => format!("-> {}", fs::read_link(&path).unwrap().display()),
                () if metadata.is_dir() => "/".to_owned(),
                () => Digest::of(&fs::read(&path).unwrap()).to_string(),
            };
            let mode = if metadata.is_symlink() { 0 } else { metadata.permissions().mode() & 0o777 };
            let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
            let name = path.strip_prefix(top).unwrap();
            lines.push(format!("{name:?} {mode:o} {seconds}.{nanoseconds:09} {content}"));
            if metadata.is_dir() {
                walk(top, &path, lines);
            }
        }
    }
    let mut lines = Vec::new();
    walk(top, top, &mut lines);
    lines
}

/// Returns the message of an error with the messages of its sources.
fn message(error: &Error) -> String {
    let sources = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    sources.fold(error.to_string(), |message, cause| format!("{message}: {cause}"))
}
