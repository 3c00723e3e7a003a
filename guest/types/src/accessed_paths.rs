//! The paths that a call read or changed, for the host's audit log.

use crate::response::{Change, ChangeKind};

/// Paths that a call read or changed: `accessed-paths` of `wit/tools.wit`. The host needs them for its audit log, because
/// it does not interpret tool arguments. They name no content, and no path that `.agentignore` hides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessedPaths {
    /// Name of the operation.
    pub operation: &'static str,
    /// The paths, without those that `.agentignore` hides.
    pub paths: Vec<String>,
    /// Number of paths that were left out.
    pub redacted: u64,
    /// Bytes read, written or searched.
    pub bytes: u64,
    /// Lines read, changed or found.
    pub lines: Option<u64>,
    /// Whether a limit cut the answer short.
    pub truncated: bool,
    /// The changes.
    pub changes: Vec<Change>,
    /// The files that were written.
    pub written: Vec<Written>,
}

/// A file that a call wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: String,
    /// Bytes that were appended, or size of the file.
    pub bytes: u64,
    /// Kind of the write.
    pub mode: WriteMode,
}

/// Kind of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// The call created the file.
    Create,
    /// The call replaced the content.
    Overwrite,
    /// The call appended to the content.
    Append,
}

impl Written {
    /// Returns the file that a change wrote; `None` for a deletion or a move.
    pub fn from_change(change: &Change) -> Option<Self> {
        let mode = match change.kind {
            ChangeKind::Created => WriteMode::Create,
            ChangeKind::Modified => WriteMode::Overwrite,
            ChangeKind::Deleted | ChangeKind::Moved => return None,
        };
        Some(Self { path: change.path.clone(), bytes: change.size?, mode })
    }
}
