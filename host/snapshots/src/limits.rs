//! Bounds of snapshots.

use crate::error::{Error, Result};

/// Bounds of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of entries.
    pub max_entries: u64,
    /// Maximum sum of the sizes of all files in bytes.
    pub max_bytes: u64,
}

impl Default for Limits {
    /// 1,000,000 entries and 64 GiB.
    fn default() -> Self {
        Self { max_entries: 1_000_000, max_bytes: 64 << 30 }
    }
}

impl Limits {
    /// No bounds but that of the manifest's own size, 256 MiB.
    pub(crate) const NONE: Self = Self { max_entries: u64::MAX, max_bytes: u64::MAX };

    pub(crate) fn check(&self, operation: &'static str, entries: u64, bytes: u64) -> Result<()> {
        if entries > self.max_entries {
            return Err(Error::Limit { operation, what: "the entries".to_owned(), limit: self.max_entries });
        }
        if bytes > self.max_bytes {
            return Err(Error::Limit { operation, what: "the bytes of all files".to_owned(), limit: self.max_bytes });
        }
        Ok(())
    }
}
