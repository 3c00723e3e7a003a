//! Checks that the backup of an undo can hold the files that the undo removes.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::phrase;
use paddock_workspace::Workspace;
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::{Action, Entry};
use paddock_workspace::resolve::FollowSymlinks;

use crate::restore::OPERATION;
use crate::restore::chosen::ChosenEntry;

/// Refuses to remove content that the backup of the undo cannot hold: after a command moves a large file, no other copy
/// exists.
pub fn check(workspace: &Workspace<'_>, entries: &[ChosenEntry<'_, '_>]) -> Result<()> {
    let size = |entry: &Entry| {
        let is_replaced = matches!(entry.action, Action::Created | Action::Modified) && entry.kind == Kind::File;
        let resolved =
            is_replaced.then(|| workspace.resolve_with(&entry.path, OPERATION, FollowSymlinks::No).ok())??;
        let stat = resolved.stat.filter(|stat| stat.kind == Kind::File)?;
        // Files below the limit are read whole and saved.
        Some(stat.size).filter(|size| *size > workspace.policy.limits.max_file_bytes)
    };
    let sizes: Vec<_> = entries.iter().filter_map(|chosen| Some((&chosen.entry.path, size(chosen.entry)?))).collect();
    let bytes = sizes.iter().map(|(_, size)| size).sum();
    let Some((path, _)) = sizes.first().filter(|_| backup::too_large(workspace, bytes).is_some()) else {
        return Ok(());
    };
    let max = workspace.policy.backups.max_bytes;
    let cause = format!("{bytes} bytes that are there now would be lost: backups keep at most {max}");
    Err(Error::at(Code::LimitExceeded, OPERATION, path, cause).hint(phrase![
        "copy the content that you need first; then ",
        Term::Overwrite,
        " restores it all the same"
    ]))
}
