//! Entries with the last name of a path that does not exist, for the hint of its error.

use paddock_types::error::printable;

use crate::Workspace;
use crate::resolved_path::ResolvedPath;
use crate::walk::{Options, Walk};

/// Maximum number of entries that a search visits.
const MAX_ENTRIES: u64 = 4_000;
/// Maximum number of paths that a hint names.
const MAX_PATHS: usize = 3;

/// Returns the paths with the last name of a missing path in the same root, quoted. Ignore rules apply, and the search
/// ends after [`MAX_ENTRIES`] entries: the hint need not be complete.
pub fn paths(workspace: &Workspace<'_>, missing: &ResolvedPath, operation: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let top = match workspace.roots.get(missing.root) {
        Some(root) if missing.root > 0 => root.label.as_str(),
        _ => ".",
    };
    let Ok(top) = workspace.resolve(top, operation) else { return paths };
    let walk = top
        .open_dir(workspace, operation)
        .and_then(|dir| Walk::new(workspace, &top, &dir, Options::default(), operation));
    let Ok(mut walk) = walk else { return paths };
    while paths.len() < MAX_PATHS && walk.looked_at() < MAX_ENTRIES {
        let Some(entry) = walk.next_entry() else { break };
        if entry.name == missing.name {
            paths.push(format!("`{}`", printable(entry.path)));
        }
    }
    paths
}
