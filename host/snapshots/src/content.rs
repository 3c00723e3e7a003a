//! The contents of files: read, hashed and stored.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::descent::{Descent, is_change, open_file};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::object::object_key;
use crate::path::SnapshotPath;
use crate::stamp::Stamp;
use crate::store::{Store, failed};

/// Maximum size in bytes of a file that is held in memory.
const SMALL: u64 = 4 << 20;
/// Minimum size in bytes of a part of a larger file.
const PART: u64 = 8 << 20;
/// Maximum number of parts: S3 permits 10,000.
const MAX_PARTS: u64 = 9_000;
/// Maximum number of files larger than [`SMALL`] that are stored at once, and of parts of each of them.
const LARGE_AT_ONCE: usize = 2;

/// Stores contents that the store lacks.
pub(crate) struct Uploader {
    store: Store,
    descent: Mutex<Descent>,
    /// Digests of contents that the store has.
    known: Mutex<HashSet<Digest>>,
    /// Digests of contents that this snapshot has stored.
    stored: Mutex<HashSet<Digest>>,
    large: Semaphore,
    pub(crate) files_read: AtomicU64,
    pub(crate) objects: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// The content of a file.
enum Content {
    Small(Bytes, Digest),
    Large(File, Digest),
    /// The file has not the stamp that it had before.
    Changed,
}

impl Uploader {
    pub(crate) fn new(store: Store, descent: Descent, known: HashSet<Digest>) -> Self {
        let count = AtomicU64::default;
        let (descent, known, large) = (Mutex::new(descent), Mutex::new(known), Semaphore::new(LARGE_AT_ONCE));
        let stored = Mutex::default();
        Self { store, descent, known, stored, large, files_read: count(), objects: count(), bytes: count() }
    }

    /// Opens all directories again from now on.
    pub(crate) fn reset(&self) {
        self.descent.lock().unwrap_or_else(PoisonError::into_inner).reset();
    }

    /// Stores the content of a file and returns its digest; `None` if the file has another stamp, or changed while it was
    /// read. With a digest from the cache, the file is only read if the store lacks the content.
    pub(crate) async fn store_file(
        self: Arc<Self>,
        path: SnapshotPath,
        stamp: Stamp,
        cached: Option<Digest>,
    ) -> Result<Option<Digest>> {
        if let Some(digest) = cached
            && self.has(&digest, stamp.size).await?
        {
            return Ok(Some(digest));
        }
        // A large file is hashed and stored by one task of a few, so that the memory for parts is bounded.
        let _permit = match stamp.size > SMALL {
            true => Some(self.large.acquire().await.map_err(|cause| Error::Task { cause: cause.to_string() })?),
            false => None,
        };
        self.files_read.fetch_add(1, Ordering::Relaxed);
        let (uploader, read_path) = (self.clone(), path.clone());
        let content = spawn_blocking(move || uploader.read(&read_path, &stamp)).await?;
        let digest = match content.map_err(Error::file("read", &path))? {
            Content::Changed => return Ok(None),
            Content::Small(bytes, digest) => {
                if !self.has(&digest, stamp.size).await? {
                    self.store.put(&object_key(&digest), bytes).await?;
                    self.count(digest, stamp.size);
                }
                digest
            }
            Content::Large(file, digest) => {
                if !self.has(&digest, stamp.size).await? {
                    if !self.store_parts(&path, file, stamp.size, digest).await? {
                        return Ok(None);
                    }
                    self.count(digest, stamp.size);
                }
                digest
            }
        };
        Ok(Some(digest))
    }

    fn count(&self, digest: Digest, size: u64) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(digest);
        // A second file of the same content may have been stored at the same time.
        if self.stored.lock().unwrap_or_else(PoisonError::into_inner).insert(digest) {
            self.objects.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(size, Ordering::Relaxed);
        }
    }

    /// Returns whether the store has a content. An object of another size is damaged, and is replaced.
    async fn has(&self, digest: &Digest, size: u64) -> Result<bool> {
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(digest) {
            return Ok(true);
        }
        let has = self.store.size(&object_key(digest)).await? == Some(size);
        if has {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(*digest);
        }
        Ok(has)
    }

    fn read(&self, path: &SnapshotPath, stamp: &Stamp) -> io::Result<Content> {
        let file = {
            let mut descent = self.descent.lock().unwrap_or_else(PoisonError::into_inner);
            match descent.parent(path).and_then(|(dir, name)| open_file(dir, &name)) {
                Err(cause) if is_change(&cause) => return Ok(Content::Changed),
                file => file?,
            }
        };
        let current = |file: &cap_std::fs::File| Ok::<_, io::Error>(Stamp::of(&file.metadata()?));
        if current(&file)? != *stamp {
            return Ok(Content::Changed);
        }
        let mut std_file = file.try_clone()?.into_std();
        let content = if stamp.size <= SMALL {
            let mut bytes = Vec::new();
            // One byte more than the file has: it may grow meanwhile.
            (&mut std_file).take(stamp.size + 1).read_to_end(&mut bytes)?;
            let digest = Digest::of(&bytes);
            Content::Small(bytes.into(), digest)
        } else {
            let digest = Digest::of_reader(&mut (&mut std_file).take(stamp.size + 1))?;
            Content::Large(std_file, digest)
        };
        let is_whole = !matches!(&content, Content::Small(bytes, _) if bytes.len() as u64 != stamp.size);
        Ok(if is_whole && current(&file)? == *stamp { content } else { Content::Changed })
    }

    /// Stores a file in parts. Returns whether its content still had the digest.
    async fn store_parts(&self, path: &SnapshotPath, mut file: File, size: u64, digest: Digest) -> Result<bool> {
        let key = object_key(&digest);
        let part = usize::try_from(PART.max(size.div_ceil(MAX_PARTS))).unwrap_or(usize::MAX);
        let mut upload = self.store.put_parts(&key, part).await?;
        file.rewind().map_err(Error::file("read", path))?;
        let (mut hasher, mut left) = (Sha256::new(), size);
        loop {
            let (returned, bytes) = match next_part(file, left.min(part as u64)).await {
                Ok(read) => read,
                Err(cause) => {
                    // The parts stored so far are no object. The first error is the one to report.
                    let _ = upload.abort().await;
                    return Err(Error::file("read", path)(cause));
                }
            };
            file = returned;
            if bytes.is_empty() {
                break;
            }
            hasher.update(&bytes);
            left -= (bytes.len() as u64).min(left);
            upload.put(bytes.into());
            if let Err(cause) = upload.wait_for_capacity(LARGE_AT_ONCE).await {
                let _ = upload.abort().await;
                return Err(failed("write", &key)(cause));
            }
        }
        if Digest::from_hasher(hasher) != digest {
            upload.abort().await.map_err(failed("write", &key))?;
            return Ok(false);
        }
        upload.finish().await.map_err(failed("write", &key))?;
        Ok(true)
    }
}

/// Reads the next bytes of a file, fewer at its end.
async fn next_part(mut file: File, length: u64) -> io::Result<(File, Vec<u8>)> {
    let read = move || {
        let mut bytes = Vec::new();
        (&mut file).take(length).read_to_end(&mut bytes)?;
        Ok((file, bytes))
    };
    spawn_blocking(read).await.map_err(io::Error::other)?
}
