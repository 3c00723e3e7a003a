//! Where contents are put before a command changes them.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::state::COMMANDS;
use crate::types::{ErrorCode, ToolError};
use crate::workspace::Inner;

/// How long one may be left over from a process that was killed: longer than any command lasts.
const LEFT_OVER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A directory of one command, in the state directory, which goes with this.
pub(super) struct Spool {
    directory: PathBuf,
    /// Its path in the state directory; none where there is no state directory, and nothing can be kept.
    name: Option<String>,
}

impl Spool {
    pub(super) fn new(workspace: &Inner) -> Result<Self, ToolError> {
        Self::make(workspace).map_err(|cause| {
            let message = format!("cannot make a directory for what the command changes: {cause}");
            ToolError::new(ErrorCode::Io, message)
        })
    }

    fn make(workspace: &Inner) -> io::Result<Self> {
        let Some(state) = workspace.state.as_ref().filter(|state| state.create().is_ok()) else {
            let directory = tempfile::Builder::new().prefix("paddock-").tempdir()?.keep();
            return Ok(Self { directory, name: None });
        };
        let parent = state.commands()?;
        sweep(&parent);
        let directory = tempfile::Builder::new().prefix("").rand_bytes(16).tempdir_in(&parent)?.keep();
        let name = directory.file_name().map(|name| format!("{COMMANDS}/{}", name.to_string_lossy()));
        Ok(Self { directory, name })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether a backup can be made of what is put there.
    pub(super) fn is_lasting(&self) -> bool {
        self.name.is_some()
    }

    /// Where the component finds a file of it; nowhere without a state directory.
    pub(super) fn kept(&self, file: &str) -> Option<String> {
        self.name.as_ref().map(|name| format!("{name}/{file}"))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // One that stays is in nobody's way.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Removes what processes that were killed left there.
fn sweep(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let is_old = |entry: &DirEntry| {
        let age = entry.metadata().and_then(|about| about.modified()).map(|time| time.elapsed().unwrap_or_default());
        age.is_ok_and(|age| age > LEFT_OVER)
    };
    for entry in entries.filter(is_old) {
        // What stays is looked at again next time.
        let _ = fs::remove_dir_all(entry.path());
    }
}

/// That no backup of these paths was kept, for whoever reads the result.
pub(super) fn not_kept(paths: &[String]) -> Option<String> {
    (!paths.is_empty()).then(|| format!("no backup of {}: too large or too many", listed(paths)))
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
