//! Entries of a snapshot, as the manifest has them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::path::{SnapshotPath, Text};

/// Permission bits that a snapshot has: read, write and execute, for owner, group and others.
pub(crate) const PERMISSIONS: u32 = 0o777;

/// A time: seconds since 1970, and nanoseconds from 0 to 999,999,999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Time(pub(crate) i64, pub(crate) u32);

impl Time {
    /// Returns the time in the form of the system; `None` if the system cannot express it.
    pub(crate) fn system(self) -> Option<SystemTime> {
        let Self(seconds, nanoseconds) = self;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let whole = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
        whole?.checked_add(Duration::from_nanos(u64::from(nanoseconds))).filter(|_| nanoseconds < 1_000_000_000)
    }
}

/// An entry of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Entry {
    Directory {
        path: SnapshotPath,
        mode: u32,
        modified: Time,
    },
    File {
        path: SnapshotPath,
        mode: u32,
        modified: Time,
        /// Size in bytes.
        size: u64,
        sha256: Digest,
    },
    Link {
        path: SnapshotPath,
        modified: Time,
        target: Text,
    },
}

impl Entry {
    pub(crate) fn path(&self) -> &SnapshotPath {
        match self {
            Self::Directory { path, .. } | Self::File { path, .. } | Self::Link { path, .. } => path,
        }
    }

    pub(crate) fn modified(&self) -> Time {
        match self {
            Self::Directory { modified, .. } | Self::File { modified, .. } | Self::Link { modified, .. } => *modified,
        }
    }

    /// Returns the permission bits; those of a link mean nothing.
    pub(crate) fn mode(&self) -> u32 {
        match self {
            Self::Directory { mode, .. } | Self::File { mode, .. } => *mode,
            Self::Link { .. } => PERMISSIONS,
        }
    }

    /// Returns the size of a file in bytes, and 0 for other entries.
    pub(crate) fn size(&self) -> u64 {
        if let Self::File { size, .. } = self { *size } else { 0 }
    }
}
