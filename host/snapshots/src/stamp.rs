//! The metadata by which a change of an entry is detected.

use cap_fs_ext::MetadataExt as _;
use cap_std::fs::Metadata;
use serde::{Deserialize, Serialize};

use crate::entry::Time;

/// Metadata of an entry that differ after a change. Like git, a stamp has the time of the last change of the inode, which
/// no program can set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Permission bits and type.
    mode: u32,
    pub(crate) modified: Time,
    changed: Time,
}

/// Age in nanoseconds from which a stamp can be trusted. The times of a file system are coarse, at most 2 s in FAT: a
/// later change within this time could leave the stamp as it is.
const SETTLED: i128 = 2_000_000_000;

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let (mode, modified, changed) = of_system(metadata);
        Self { device: metadata.dev(), inode: metadata.ino(), size: metadata.len(), mode, modified, changed }
    }

    /// Returns whether every change after `now`, in nanoseconds since 1970, gives the entry another stamp.
    pub(crate) fn is_settled(&self, now: i128) -> bool {
        // Other systems have no time of the last change of an inode.
        let nanoseconds = |Time(seconds, nanoseconds)| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        cfg!(unix) && now - nanoseconds(self.modified).max(nanoseconds(self.changed)) > SETTLED
    }

    /// Returns device and inode.
    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Returns the permission bits and the type.
    pub(crate) fn mode(&self) -> u32 {
        self.mode
    }
}

#[cfg(unix)]
fn of_system(metadata: &Metadata) -> (u32, Time, Time) {
    use cap_std::fs::MetadataExt as _;

    let nanoseconds = |value: i64| u32::try_from(value).unwrap_or_default();
    let modified = Time(metadata.mtime(), nanoseconds(metadata.mtime_nsec()));
    (metadata.mode(), modified, Time(metadata.ctime(), nanoseconds(metadata.ctime_nsec())))
}

#[cfg(not(unix))]
fn of_system(metadata: &Metadata) -> (u32, Time, Time) {
    let time = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
    let since = time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    let modified = Time(i64::try_from(since.as_secs()).unwrap_or_default(), since.subsec_nanos());
    let mode = if metadata.is_dir() {
        0o755
    } else if metadata.permissions().readonly() {
        0o444
    } else {
        0o644
    };
    (mode, modified, modified)
}

/// Returns the current time in nanoseconds since 1970.
pub(crate) fn now() -> i128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or_default()
}
