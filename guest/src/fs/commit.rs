//! Changes, all or nothing (being written).

use crate::error::Result;
use crate::fs::resolve::Place;
use crate::workspace::Workspace;

/// One file's change, planned whole in memory.
pub struct FileChange {
    /// Where the file is, or is to be. Missing parent directories are made.
    pub place: Place,
    /// What it holds now; none where nothing may be there.
    pub old: Option<Vec<u8>>,
    /// What it is to hold; none to remove it.
    pub new: Option<Vec<u8>>,
    /// Where it is to be moved; nothing may be there.
    pub to: Option<Place>,
}

/// Makes the changes, all of them or none, durably, and records them in the
/// workspace's list. Returns notes for the caller, such as a hard link that was
/// broken. Checks rights and rules itself (`Workspace::check_change`).
pub fn commit(_workspace: &Workspace<'_>, _verb: &str, _changes: Vec<FileChange>) -> Result<Vec<String>> {
    Ok(Vec::new())
}
