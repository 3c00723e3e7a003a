//! Where contents are put before a command changes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::state::COMMANDS;
use crate::types::{ErrorCode, ToolError};
use crate::workspace::Inner;

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
        let directory = tempfile::Builder::new().prefix("").rand_bytes(16).tempdir_in(state.commands()?)?.keep();
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
