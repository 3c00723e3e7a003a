//! Metadata of an archive entry.

use paddock_types::entry::Time;

use crate::memory::{MemoryFs, entry};
use crate::{Dir, FsResult};

impl MemoryFs {
    /// Sets when the content of `name` last changed, as a loaded archive tells it.
    pub fn set_modified(&self, dir: &Dir, name: &str, modified: Time) -> FsResult<()> {
        entry(dir, name)?.modified.set(modified);
        Ok(())
    }

    /// Stores the mode bits of `name` for snapshots. The backend does not enforce them.
    pub fn set_mode(&self, dir: &Dir, name: &str, mode: u32) -> FsResult<()> {
        entry(dir, name)?.mode.set(Some(mode & 0o777));
        Ok(())
    }

    /// Returns the mode bits of `name` that came from an archive.
    pub fn mode(&self, dir: &Dir, name: &str) -> FsResult<Option<u32>> {
        Ok(entry(dir, name)?.mode.get())
    }
}
