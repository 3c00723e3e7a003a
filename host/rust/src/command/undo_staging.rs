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

/// How long one may be left over from a process that was killed: longer than any command lasts.
const LEFT_OVER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A directory of one command, in the state directory, which goes with this.
pub(super) struct UndoStaging {
    directory: Temporary,
    /// Whether it is in the state directory; without one, nothing can be kept.
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

    /// A file that all commands of the workspace lock, opened for one of them.
    #[cfg(target_os = "linux")]
    pub(super) fn lock(&self) -> io::Result<File> {
        self.directory.above().open_file("lock", private_file().read(true).create(true).truncate(false))
    }

    /// Whether a backup can be made of what is put there.
    #[cfg(feature = "programs")]
    pub(super) fn is_lasting(&self) -> bool {
        self.is_lasting
    }

    /// Where the component finds a file of it; nowhere without a state directory.
    pub(super) fn kept(&self, file: &str) -> Option<String> {
        self.is_lasting.then(|| format!("{COMMANDS}/{}/{file}", self.directory.name()))
    }
}

/// Removes what processes that were killed left there.
fn sweep(parent: &Directory) {
    let entries = parent.entries().entries().into_iter().flatten().flatten();
    let is_old = |entry: &DirEntry| {
        let about = entry.metadata().ok().filter(cap_std::fs::Metadata::is_dir);
        about
            .and_then(|about| about.modified().ok())
            .is_some_and(|time| time.into_std().elapsed().unwrap_or_default() > LEFT_OVER)
    };
    for entry in entries.filter(is_old) {
        // What stays is looked at again next time.
        let _ = parent.entries().remove_dir_all(entry.file_name());
    }
}

/// That no backup of these paths was kept, for whoever reads the result.
pub(super) fn not_kept(paths: &[String]) -> Option<String> {
    (!paths.is_empty()).then(|| format!("no backup of {}: too large or too many", listed(paths)))
}

/// That these paths had other hard links, of so many.
pub(super) fn broken(paths: &[String], count: u64) -> Option<String> {
    let more = count.saturating_sub(paths.len() as u64);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let files = listed(paths);
    (!paths.is_empty())
        .then(|| format!("replaced by a copy, since other hard links keep the old content: {files}{more}"))
}

/// The first paths of a list.
fn listed(paths: &[String]) -> String {
    const SHOWN: usize = 5;
    let first: Vec<_> = paths.iter().take(SHOWN).map(|path| format!("`{path}`")).collect();
    match paths.len().saturating_sub(SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
