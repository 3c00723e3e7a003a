//! Snapshots are taken.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use cap_std::fs::Dir;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::task::spawn_blocking;

use crate::cache::StatCache;
use crate::collect;
use crate::content::Uploader;
use crate::descent::{Descent, is_change};
use crate::digest::Digest;
use crate::entry::{Entry, PERMISSIONS};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::location::check_name;
use crate::manifest;
use crate::markers::{Kind as MarkerKind, Marker};
use crate::object::manifest_key;
use crate::path::SnapshotPath;
use crate::stamp::{Stamp, now};
use crate::store::Store;
use crate::walk::{self, Item, Kind, Listing};

/// Number of files that are read and stored at once.
const AT_ONCE: usize = 16;

/// Number of attempts to read a tree that another program changes.
const ATTEMPTS: u32 = 3;

/// Settings of a snapshot.
#[derive(Debug, Default)]
pub struct Options {
    /// The cache of the last snapshot of the same trees. A file that still has its stamp is not read.
    pub cache: StatCache,
    /// Bounds of the trees.
    pub limits: Limits,
}

/// A stored snapshot.
#[derive(Debug)]
pub struct Report {
    /// SHA-256 of the manifest. A restore that expects it finds every change of the snapshot.
    pub digest: Digest,
    /// Number of entries, the trees included.
    pub entries: u64,
    /// Number of files.
    pub files: u64,
    /// Sum of the sizes of all files in bytes.
    pub bytes: u64,
    /// Number of files that were read; the others had a stamp of the cache.
    pub files_read: u64,
    /// Number of contents that the store lacked.
    pub objects_stored: u64,
    /// Sum of their sizes in bytes.
    pub bytes_stored: u64,
    /// Paths of the first 1,000 entries that are neither files, directories nor links. The snapshot lacks them.
    pub skipped: Vec<String>,
    /// Number of such entries.
    pub skipped_count: u64,
    /// Number of entries whose set-ID or sticky bits the snapshot lacks.
    pub special_modes: u64,
    /// Number of files with several hard links. Each becomes a file of its own.
    pub hard_links: u64,
    /// The cache for the next snapshot.
    pub cache: StatCache,
}

/// Returns the name of a snapshot that has none: the time in UTC, and 8 random digits.
fn default_name(time: SystemTime) -> Result<String> {
    let time = humantime::format_rfc3339_seconds(time).to_string().replace([':', '-'], "");
    let random = crate::markers::random()?;
    Ok(format!("{time}-{}", random.get(..8).unwrap_or_default()))
}

/// Takes a snapshot of trees, each with its name, and stores it by the name `name`, or by the time and a random number.
/// Returns the name and a report. The trees are read through their open directories, and no link is followed. The caller
/// holds a lock against other changes, or accepts that a change is detected and the trees are read again.
///
/// At most 16 files are read at once, of which 2 have more than 4 MiB: the contents take at most 130 MiB of memory.
///
/// # Errors
///
/// [`Error::Exists`] if the store has a snapshot of the name, [`Error::Changed`] if another program changed the trees in each
/// of 3 attempts, [`Error::Limit`] if they are too large, and an error for each file that cannot be read.
pub async fn create(
    store: &Store,
    name: Option<&str>,
    trees: Vec<(String, Dir)>,
    options: Options,
) -> Result<(String, Report)> {
    let begun = SystemTime::now();
    let name = name.map_or_else(|| default_name(begun), |name| Ok(name.to_owned()))?;
    check_name(&name)?;
    if store.size(&manifest_key(&name)).await?.is_some() {
        return Err(Error::Exists { name });
    }
    let marker = Marker::begin(store, MarkerKind::Snapshot).await?;
    let stored = create_marked(store, &name, begun, trees, options, &marker).await;
    let ended = marker.end().await;
    // The first error is the one to report.
    let report = stored?;
    ended.map(|()| (name, report))
}

async fn create_marked(
    store: &Store,
    name: &str,
    begun: SystemTime,
    trees: Vec<(String, Dir)>,
    options: Options,
    marker: &Marker,
) -> Result<Report> {
    let Options { cache, limits } = options;
    let mut trees = trees;
    // The order of a manifest.
    trees.sort_by(|(a, _), (b, _)| a.cmp(b));
    let known = known(store, &cache).await;
    let clone = |(name, dir): &(String, Dir)| Ok((name.clone(), dir.try_clone()?));
    let clones: std::io::Result<Vec<_>> = trees.iter().map(clone).collect();
    let descent = Descent::new(clones.map_err(Error::file("open", "."))?);
    let uploader = Arc::new(Uploader::new(store.clone(), descent, known));
    let reader = Reader { trees: Arc::new(trees), limits, uploader, store: store.identity() };
    let (listing, digests, new_cache) = reader.read(cache).await?;
    let entries = entries(&listing.items, &digests);
    let manifest = manifest::encode(humantime::format_rfc3339_seconds(begun).to_string(), &entries)?;
    let digest = Digest::of(&manifest);
    marker.check()?;
    if !store.put_new(&manifest_key(name), manifest.into()).await? {
        return Err(Error::Exists { name: name.to_owned() });
    }
    let mut cache = new_cache;
    cache.last = Some((store.name().to_owned(), name.to_owned()));
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let is_file = |entry: &&Entry| matches!(entry, Entry::File { .. });
    Ok(Report {
        digest,
        entries: entries.len() as u64,
        files: entries.iter().filter(is_file).count() as u64,
        bytes: entries.iter().map(Entry::size).sum(),
        files_read: count(&reader.uploader.files_read),
        objects_stored: count(&reader.uploader.objects),
        bytes_stored: count(&reader.uploader.bytes),
        skipped: listing.skipped,
        skipped_count: listing.skipped_count,
        special_modes: listing.special_modes,
        hard_links: listing.hard_links,
        cache,
    })
}

/// Returns the contents that the store has because the last snapshot needs them. Without that snapshot, the store is asked
/// for each content.
async fn known(store: &Store, cache: &StatCache) -> HashSet<Digest> {
    let last = cache.last.as_ref().filter(|(last, _)| last == store.name());
    let Some((_, name)) = last else { return HashSet::new() };
    collect::digests(store, name).await.ok().flatten().unwrap_or_default()
}

type Digests = HashMap<SnapshotPath, Digest>;

/// Reads trees and stores their files.
struct Reader {
    trees: Arc<Vec<(String, Dir)>>,
    limits: Limits,
    uploader: Arc<Uploader>,
    /// Device and inode of the store, if it is a directory.
    store: Option<(u64, u64)>,
}

/// Result of reading the trees once.
enum Attempt {
    /// No entry changed meanwhile.
    Consistent(Listing, Digests, StatCache),
    /// These paths changed. The cache has the files that were read.
    Changed(Vec<String>, StatCache),
}

impl Reader {
    /// Reads the trees until they do not change meanwhile. Returns them with the digests of their files.
    async fn read(&self, mut cache: StatCache) -> Result<(Listing, Digests, StatCache)> {
        let mut paths = Vec::new();
        for _ in 0..ATTEMPTS {
            match self.attempt(cache).await? {
                Attempt::Consistent(listing, digests, cache) => return Ok((listing, digests, cache)),
                Attempt::Changed(changed, new_cache) => (paths, cache) = (changed, new_cache),
            }
        }
        Err(Error::Changed { paths, attempts: ATTEMPTS })
    }

    async fn attempt(&self, cache: StatCache) -> Result<Attempt> {
        self.uploader.reset();
        let listing = match self.list().await? {
            Ok(listing) => listing,
            Err(path) => return Ok(Attempt::Changed(vec![path], cache)),
        };
        let (digests, new_cache) = self.store_files(&listing, &cache).await?;
        let current = match self.list().await? {
            Ok(listing) => listing,
            Err(path) => return Ok(Attempt::Changed(vec![path], new_cache)),
        };
        if current == listing && digests.values().all(Option::is_some) {
            let digests = digests.into_iter().filter_map(|(path, digest)| Some((path, digest?))).collect();
            return Ok(Attempt::Consistent(listing, digests, new_cache));
        }
        Ok(Attempt::Changed(changed(&listing, &current, &digests), new_cache))
    }

    /// Lists the trees; returns the path of an entry that another program replaced or removed meanwhile.
    async fn list(&self) -> Result<Result<Listing, String>> {
        let (trees, limits, store) = (self.trees.clone(), self.limits, self.store);
        let list = move || walk::list(trees.iter().map(|(name, dir)| (name.as_str(), dir)), &limits, store);
        match spawn_blocking(list).await? {
            Err(Error::File { path, cause, .. }) if is_change(&cause) => Ok(Err(path)),
            listing => listing.map(Ok),
        }
    }

    async fn store_files(
        &self,
        listing: &Listing,
        cache: &StatCache,
    ) -> Result<(HashMap<SnapshotPath, Option<Digest>>, StatCache)> {
        let begun = now();
        let cached = |item: &Item| (item.path.clone(), item.stamp, cache.get(&item.path, &item.stamp));
        let files: Vec<_> = listing.items.iter().filter(|item| item.kind == Kind::File).map(cached).collect();
        let uploader = self.uploader.clone();
        let tasks = stream::iter(files).map(move |(path, stamp, cached)| {
            let task = uploader.clone().store_file(path.clone(), stamp, cached);
            async move { Ok::<_, Error>((path, stamp, task.await?)) }
        });
        let stored: Vec<(SnapshotPath, Stamp, Option<Digest>)> = tasks.buffer_unordered(AT_ONCE).try_collect().await?;
        let mut new_cache = StatCache::default();
        for (path, stamp, digest) in &stored {
            if let Some(digest) = digest {
                new_cache.add(path.clone(), *stamp, *digest, begun);
            }
        }
        Ok((stored.into_iter().map(|(path, _, digest)| (path, digest)).collect(), new_cache))
    }
}

/// Returns the paths of entries that changed between two listings, or whose file could not be read as a whole.
fn changed(last: &Listing, current: &Listing, digests: &HashMap<SnapshotPath, Option<Digest>>) -> Vec<String> {
    let old: HashMap<_, _> = last.items.iter().map(|item| (&item.path, item)).collect();
    let new: HashMap<_, _> = current.items.iter().map(|item| (&item.path, item)).collect();
    let differs = |path: &&&SnapshotPath| old.get(**path) != new.get(**path);
    let unread = digests.iter().filter(|(_, digest)| digest.is_none()).map(|(path, _)| path);
    let mut paths: Vec<_> = old.keys().chain(new.keys()).filter(differs).copied().chain(unread).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().map(ToString::to_string).collect()
}

/// Returns the entries of a manifest, in the order of the listing.
fn entries(items: &[Item], digests: &Digests) -> Vec<Entry> {
    let entry = |item: &Item| {
        let (path, modified, mode) = (item.path.clone(), item.stamp.modified, item.stamp.mode() & PERMISSIONS);
        Some(match &item.kind {
            Kind::Directory => Entry::Directory { path, mode, modified },
            Kind::Link(target) => Entry::Link { path, modified, target: target.clone().into() },
            Kind::File => {
                let sha256 = *digests.get(&item.path)?;
                Entry::File { path, mode, modified, size: item.stamp.size, sha256 }
            }
        })
    };
    // Every file has a digest here.
    items.iter().filter_map(entry).collect()
}
