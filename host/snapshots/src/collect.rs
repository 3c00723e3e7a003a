//! Snapshots of a store: listed and removed, with the objects that no snapshot needs.

use std::collections::HashSet;
use std::time::SystemTime;

use futures_util::TryStreamExt;

use crate::digest::Digest;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::location::check_name;
use crate::manifest;
use crate::markers::{Kind, Marker, STALE};
use crate::object::{Object, manifest_key, object_digest};
use crate::store::Store;

/// Maximum number of snapshots of a store that are listed.
const MAX_SNAPSHOTS: usize = 100_000;

/// Directory of the objects.
const OBJECTS: &str = "objects";

/// A snapshot of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name of the snapshot.
    pub name: String,
    /// Time at which it was begun, in the form of RFC 3339.
    pub created: String,
    /// Number of entries.
    pub entries: u64,
    /// Sum of the sizes of all files in bytes.
    pub bytes: u64,
}

/// Result of [`collect`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Number of removed objects.
    pub objects: u64,
    /// Sum of their sizes in bytes.
    pub bytes: u64,
    /// Number of objects that snapshots need.
    pub retained: u64,
}

/// Lists the snapshots of a store, by their names.
///
/// # Errors
///
/// [`Error::Store`] if the store fails, and [`Error::Manifest`] if a manifest is damaged.
pub async fn list(store: &Store) -> Result<Vec<Listed>> {
    let mut listed = Vec::new();
    for name in names(store).await? {
        let Some(start) = store.get_start(&manifest_key(&name), manifest::MAX_HEADER).await? else { continue };
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let manifest::Header { created, entries, bytes, .. } = manifest::parse_header(&name, line)?;
        listed.push(Listed { name, created, entries, bytes });
    }
    Ok(listed)
}

/// Removes a snapshot. The objects that no other snapshot needs remain until [`collect`].
///
/// # Errors
///
/// [`Error::Missing`] if the store has no snapshot of this name.
pub async fn remove(store: &Store, name: &str) -> Result<()> {
    check_name(name)?;
    let key = manifest_key(name);
    if store.size(&key).await?.is_none() {
        return Err(Error::Missing { name: name.to_owned() });
    }
    store.delete(&key).await
}

/// Removes the objects that no snapshot needs.
///
/// # Errors
///
/// [`Error::Busy`] while a snapshot is taken, and [`Error::Manifest`] if a manifest is damaged: nothing is removed then.
pub async fn collect(store: &Store) -> Result<Collected> {
    let marker = Marker::begin(store, Kind::Collection).await?;
    let collected = collect_marked(store).await;
    let ended = marker.end().await;
    // The first error is the one to report.
    let collected = collected?;
    ended.map(|()| collected)
}

async fn collect_marked(store: &Store) -> Result<Collected> {
    let mut needed = HashSet::new();
    for name in names(store).await? {
        needed.extend(digests(store, &name).await?.into_iter().flatten());
    }
    let mut collected = Collected::default();
    let mut objects = store.list(OBJECTS);
    let now = SystemTime::now();
    while let Some(Object { key, size, modified }) = objects.try_next().await? {
        let is_needed = match object_digest(&key) {
            Some(digest) => needed.contains(&digest),
            // A bucket can have objects of other programs.
            None if !is_unfinished(&key) => continue,
            None => now.duration_since(modified).unwrap_or_default() < STALE,
        };
        if is_needed {
            collected.retained += 1;
        } else {
            store.delete(&key).await?;
            collected.objects += 1;
            collected.bytes += size;
        }
    }
    Ok(collected)
}

/// Returns whether this is a file that `object_store` was writing: the key of an object, `#` and a number.
fn is_unfinished(key: &str) -> bool {
    key.split_once('#').is_some_and(|(object, number)| {
        object_digest(object).is_some() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns the digests of all files of a snapshot; `None` if there is no snapshot of this name.
pub(crate) async fn digests(store: &Store, name: &str) -> Result<Option<HashSet<Digest>>> {
    let Some(bytes) = store.get_bytes(&manifest_key(name), manifest::MAX_BYTES).await? else { return Ok(None) };
    let mut digests = HashSet::new();
    manifest::for_each(name, &bytes, &Limits::NONE, |entry| {
        if let Entry::File { sha256, .. } = entry {
            digests.insert(sha256);
        }
    })?;
    Ok(Some(digests))
}

async fn names(store: &Store) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut objects = store.list("snapshots");
    while let Some(Object { key, .. }) = objects.try_next().await? {
        let name = key.strip_prefix("snapshots/").unwrap_or(&key);
        if check_name(name).is_ok() {
            names.push(name.to_owned());
        }
        if names.len() > MAX_SNAPSHOTS {
            let limit = MAX_SNAPSHOTS as u64;
            return Err(Error::Limit { operation: "list the store", what: "its snapshots".to_owned(), limit });
        }
    }
    names.sort();
    Ok(names)
}
