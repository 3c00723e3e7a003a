//! The digests of files, with the stamps that the files had.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::path::SnapshotPath;
use crate::stamp::Stamp;

/// Digests of the files of the last snapshot. A file that still has its stamp is not read again.
///
/// The cache belongs in a directory that only its user can change: a forged cache decides what a snapshot contains.
#[derive(Debug, Default)]
pub struct StatCache {
    /// The store and the name of the snapshot, whose objects the store has.
    pub(crate) last: Option<(String, String)>,
    files: HashMap<SnapshotPath, (Stamp, Digest)>,
}

#[derive(Serialize, Deserialize)]
struct Stored<F> {
    version: u32,
    last: Option<(String, String)>,
    files: F,
}

const VERSION: u32 = 1;

impl StatCache {
    /// Returns the cache that [`Self::to_bytes`] wrote. A damaged one is empty: all files are read then.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        type Files = Vec<(SnapshotPath, Stamp, Digest)>;
        let stored = serde_json::from_slice::<Stored<Files>>(bytes).ok();
        let Some(Stored { last, files, .. }) = stored.filter(|stored| stored.version == VERSION) else {
            return Self::default();
        };
        Self { last, files: files.into_iter().map(|(path, stamp, digest)| (path, (stamp, digest))).collect() }
    }

    /// Returns the cache in the form that [`Self::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut files: Vec<_> = self.files.iter().map(|(path, (stamp, digest))| (path, stamp, digest)).collect();
        files.sort_unstable_by_key(|(path, ..)| *path);
        // Nothing in the cache fails to be written as JSON.
        serde_json::to_vec(&Stored { version: VERSION, last: self.last.clone(), files }).unwrap_or_default()
    }

    /// Returns the digest of a file with this stamp.
    pub(crate) fn get(&self, path: &SnapshotPath, stamp: &Stamp) -> Option<Digest> {
        self.files.get(path).filter(|(cached, _)| cached == stamp).map(|(_, digest)| *digest)
    }

    /// Adds a file that was read at `now`, in nanoseconds since 1970, unless a later change could leave the stamp as it is.
    pub(crate) fn add(&mut self, path: SnapshotPath, stamp: Stamp, digest: Digest, now: i128) {
        if stamp.is_settled(now) {
            self.files.insert(path, (stamp, digest));
        }
    }
}
