//! Permission bits of existing files that a change sets. New files get theirs before they have a name.

use std::collections::BTreeMap;

use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::{Fault, Filesystem, FsResult};

use crate::change::file_change::FileChange;
use crate::tree::OWNER;

/// The bits of a change's files, and their earlier bits.
pub struct FileModes<'m> {
    /// Bits after the change by path.
    modes: &'m BTreeMap<String, u32>,
    earlier: Vec<(OpenLocation, u32)>,
}

impl<'m> FileModes<'m> {
    /// Begins to set these bits, by path.
    pub fn new(modes: &'m BTreeMap<String, u32>) -> Self {
        Self { modes, earlier: Vec::new() }
    }

    /// Takes from a file the bits that it loses, before it gets its new content: other users can read the content of a
    /// private file at no time.
    pub fn narrow(&mut self, fs: &dyn Filesystem, change: &FileChange) {
        let location = change.resolved.location();
        let Some(wanted) = self.wanted(change) else { return };
        let Some(now) = location.mode(fs) else { return };
        // The owner retains access until the change is complete. If the host refuses this mode, it refuses the final
        // one too.
        drop(fs.set_mode(&location.dir, &location.name, now & (wanted | OWNER)));
        self.earlier.push((location, now));
    }

    /// Gives the file at `location`, which has its new content, its bits.
    pub fn set(&self, fs: &dyn Filesystem, change: &FileChange, location: &OpenLocation) -> FsResult<()> {
        let Some(wanted) = self.wanted(change) else { return Ok(()) };
        match fs.set_mode(&location.dir, &location.name, wanted) {
            // The mode of a file with further hard links must not be changed.
            Err(Fault::Access) => Ok(()),
            other => other,
        }
    }

    /// Restores the earlier bits of files whose change was undone.
    pub fn take_back(&self, fs: &dyn Filesystem) {
        for (location, mode) in &self.earlier {
            drop(fs.set_mode(&location.dir, &location.name, *mode));
        }
    }

    fn wanted(&self, change: &FileChange) -> Option<u32> {
        self.modes.get(change.path()).copied().filter(|_| change.old.is_some())
    }
}
