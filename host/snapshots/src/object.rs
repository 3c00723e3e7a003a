//! Objects of a store, and their keys.

use std::time::SystemTime;

use crate::digest::Digest;

/// An object in the list of a store.
pub(crate) struct Object {
    pub(crate) key: String,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Time at which it was written, by the clock of the store.
    pub(crate) modified: SystemTime,
}

/// Returns the key of the object with a file's content.
pub(crate) fn object_key(digest: &Digest) -> String {
    let text = digest.to_string();
    format!("objects/{}/{text}", text.get(..2).unwrap_or_default())
}

/// Returns the digest of the content whose object has this key; `None` for other objects.
pub(crate) fn object_digest(key: &str) -> Option<Digest> {
    let digest = key.rsplit_once('/')?.1.parse().ok()?;
    (object_key(&digest) == key).then_some(digest)
}

/// Returns the key of a snapshot's manifest.
pub(crate) fn manifest_key(name: &str) -> String {
    format!("snapshots/{name}")
}
