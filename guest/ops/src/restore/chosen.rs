//! The choice of the changes that a call of `restore` undoes.

use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::path::is_at_or_below;
use paddock_types::{phrase, request};
use paddock_workspace::Workspace;
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::{Entry, Saved};
use paddock_workspace::resolve::FollowSymlinks;

use super::OPERATION;

/// Maximum number of backup records of one call. The undo of a move commits in several steps, with a record for each.
const MAX_RECORDS: usize = 8;

/// The changes to undo.
pub struct Chosen<'w> {
    /// Id of the newest of the records.
    pub id: String,
    records: Vec<Saved<'w>>,
    /// Path to which the undo is restricted, if any.
    path: Option<String>,
}

impl<'w> Chosen<'w> {
    /// Returns the entries to undo, latest first.
    pub fn entries(&self) -> Vec<(&Saved<'w>, &Entry)> {
        let concerned = |entry: &&Entry| self.path.as_ref().is_none_or(|path| concerns(entry, path));
        let all = self.records.iter().flat_map(|saved| &saved.record.entries);
        // The undo of a move also restores the file that the move replaced.
        let destinations: Vec<&str> = all.filter(concerned).filter_map(|entry| entry.to.as_deref()).collect();
        let is_meant = |entry: &Entry| {
            concerned(&entry) || destinations.iter().any(|destination| is_at_or_below(&entry.path, destination))
        };
        let entries =
            self.records.iter().flat_map(|saved| saved.record.entries.iter().rev().map(move |entry| (saved, entry)));
        entries.filter(|(_, entry)| is_meant(entry)).collect()
    }
}

/// Chooses the records to undo, and the entries in them.
pub fn choose<'w>(workspace: &'w Workspace<'w>, args: &request::Restore) -> Result<Chosen<'w>> {
    let path =
        args.path.as_ref().map(|path| workspace.resolve_with(path, OPERATION, FollowSymlinks::No)).transpose()?;
    let path = path.map(|resolved| resolved.path);
    let (id, first) = match (&args.backup, &path) {
        (Some(id), _) => (id.clone(), Saved::open(workspace, id)?),
        (None, Some(path)) => newest(workspace, path)?,
        (None, None) => {
            return Err(Error::argument(Term::Path, phrase!["neither it nor ", Term::Backup, " is given"])
                .hint(phrase![Term::Path, " undoes the last change there, ", Term::Backup, " that of a call"]));
        }
    };
    // A call may have written several records; the latest is undone first.
    workspace.pin_backup(&id);
    let mut records = vec![first];
    while let Some(before) = records.last().and_then(|saved| saved.record.before.clone())
        && records.len() < MAX_RECORDS
    {
        workspace.pin_backup(&before);
        records.push(Saved::open(workspace, &before)?);
    }
    let chosen = Chosen { id, records, path };
    if chosen.entries().is_empty() {
        let id = chosen.id;
        return Err(Error::new(Code::NotFound, format!("the backup `{id}` contains no change of that path")).hint(
            phrase![
                "leave ",
                Term::Path,
                " out to undo the whole call, or ",
                Term::Backup,
                " for the last change of the path"
            ],
        ));
    }
    Ok(chosen)
}

/// Returns the newest backup that holds a change of `path`.
fn newest<'w>(workspace: &'w Workspace<'w>, path: &str) -> Result<(String, Saved<'w>)> {
    for (id, _) in backup::ids(workspace)? {
        // A damaged backup must not hide the others.
        let Some(saved) = Saved::find(workspace, &id)?.filter(|saved| saved.record.is_of(workspace)) else { continue };
        if saved.record.entries.iter().any(|entry| concerns(entry, path)) {
            return Ok((id, saved));
        }
    }
    Err(Error::at(Code::NotFound, OPERATION, path, "no backup holds a change of it")
        .hint("only what these tools changed can be restored, and the oldest backups go"))
}

fn concerns(entry: &Entry, path: &str) -> bool {
    let is_in = |name: &str| path == "." || is_at_or_below(name, path);
    is_in(&entry.path) || entry.to.as_deref().is_some_and(is_in)
}
