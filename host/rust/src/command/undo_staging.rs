//! The staging directory for contents that a command is about to change.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
use std::time::Duration;

use cap_std::fs::DirEntry;

use super::scratch::Scratch;
use crate::directory::Directory;
#[cfg(target_os = "linux")]
use crate::directory::private_file;
use crate::roots::Roots;
use crate::state::COMMANDS;
use crate::temporary::Temporary;
use crate::types::{ErrorCode, ToolError};

/// Age at which the directory of a killed process is removed; longer than any command runs.
const LEFT_OVER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A directory of one command in the state directory, removed when this value is dropped.
pub(super) struct UndoStaging {
    directory: Temporary,
    /// Whether the directory is in the state directory. Backups are possible only there.
    is_lasting: bool,
}

impl UndoStaging {
    pub(super) fn new(scratch: &Scratch, roots: &Roots) -> Result<Self, ToolError> {
        Self::make(scratch, roots).map_err(|cause| {
            let message = format!("cannot make a directory for what the command changes: {cause}");
            ToolError::new(ErrorCode::Io, message)
        })
    }

    fn make(scratch: &Scratch, roots: &Roots) -> io::Result<Self> {
        let Some(state) = roots.state.as_ref().filter(|state| state.create().is_ok()) else {
            return Ok(Self { directory: scratch.make(&roots.mounts)?, is_lasting: false });
        };
        let parent = state.commands()?;
        sweep(&parent);
        Ok(Self { directory: Temporary::below(parent)?, is_lasting: true })
    }

    pub(super) fn directory(&self) -> &Directory {
        self.directory.directory()
    }

    /// Opens the lock file that all commands of the workspace share.
    #[cfg(target_os = "linux")]
    pub(super) fn lock(&self) -> io::Result<File> {
        self.directory.above().open_file("lock", private_file().read(true).create(true).truncate(false))
    }

    /// Returns whether a backup can be made from the directory.
    #[cfg(feature = "programs")]
    pub(super) fn is_lasting(&self) -> bool {
        self.is_lasting
    }

    /// Returns the path by which the component finds a file of the directory; `None` without a state directory.
    pub(super) fn state_path(&self, file: &str) -> Option<String> {
        self.is_lasting.then(|| format!("{COMMANDS}/{}/{file}", self.directory.name()))
    }
}

/// Removes the directories that killed processes left.
fn sweep(parent: &Directory) {
    let entries = parent.entries().entries().into_iter().flatten().flatten();
    let is_old = |entry: &DirEntry| {
        let about = entry.metadata().ok().filter(cap_std::fs::Metadata::is_dir);
        about
            .and_then(|about| about.modified().ok())
            .is_some_and(|time| time.into_std().elapsed().unwrap_or_default() > LEFT_OVER)
    };
    for entry in entries.filter(is_old) {
        // The next sweep tries again if the removal fails.
        let _ = parent.entries().remove_dir_all(entry.file_name());
    }
}

/// Returns a note that these paths have no backup.
pub(super) fn not_stored(paths: &[String]) -> Option<String> {
    (!paths.is_empty()).then(|| format!("no backup of {}: too large or too many", listed(paths)))
}

/// Returns a note that these paths, out of `count`, had other hard links.
pub(super) fn broken(paths: &[String], count: u64) -> Option<String> {
    let more = count.saturating_sub(paths.len() as u64);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let files = listed(paths);
    (!paths.is_empty())
        .then(|| format!("replaced by a copy, since other hard links keep the old content: {files}{more}"))
}

/// Formats the first paths of a list.
fn listed(paths: &[String]) -> String {
    const MAX_LISTED: usize = 5;
    let first: Vec<_> = paths.iter().take(MAX_LISTED).map(|path| format!("`{path}`")).collect();
    match paths.len().saturating_sub(MAX_LISTED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
