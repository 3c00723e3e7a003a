//! Whether the backup of an undoing can hold what the undoing takes away.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::phrase;
use paddock_workspace::Workspace;
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::{Action, Entry, Saved};
use paddock_workspace::resolve::FollowSymlinks;

use crate::restore::VERB;

/// Refuses to take away what the backup of the undoing could not hold: a command that moves a large file leaves no other
/// copy of it.
pub fn check(workspace: &Workspace<'_>, entries: &[(&Saved<'_>, &Entry)]) -> Result<()> {
    let size = |entry: &Entry| {
        let is_replaced = matches!(entry.action, Action::Created | Action::Modified) && entry.kind == Kind::File;
        let resolved = is_replaced.then(|| workspace.resolve_with(&entry.path, VERB, FollowSymlinks::No).ok())??;
        let stat = resolved.stat.filter(|stat| stat.kind == Kind::File)?;
        // Smaller files are held whole, and so kept.
        Some(stat.size).filter(|size| *size > workspace.policy.limits.max_file_bytes)
    };
    let sizes: Vec<_> = entries.iter().filter_map(|(_, entry)| Some((&entry.path, size(entry)?))).collect();
    let bytes = sizes.iter().map(|(_, size)| size).sum();
    let Some((path, _)) = sizes.first().filter(|_| backup::too_large(workspace, bytes).is_some()) else {
        return Ok(());
    };
    let max = workspace.policy.backups.max_bytes;
    let cause = format!("{bytes} bytes that are there now would be lost: backups keep at most {max}");
    Err(Error::at(Code::LimitExceeded, VERB, path, cause).hint(phrase![
        "copy what is worth keeping first; then ",
        Term::Overwrite,
        " restores it all the same"
    ]))
}
