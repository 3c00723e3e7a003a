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
}
