//! The choice of the changes that a call of `restore` undoes.

use std::collections::BTreeSet;

use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::path::is_at_or_below;
use paddock_types::{phrase, request};
use paddock_workspace::Workspace;
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::{Entry, Saved};
use paddock_workspace::resolve::FollowSymlinks;

use super::OPERATION;

/// Maximum number of backup records of one call. The undo of a move commits in several steps, with a record for each.
const MAX_RECORDS: usize = 8;
/// Maximum number of calls that are undone together.
const MAX_CALLS: u32 = 100;

/// The changes to undo.
pub struct Chosen<'w> {
    /// Calls to undo, latest first.
    pub calls: Vec<ChosenCall<'w>>,
    /// Path to which the undo is restricted, if any.
    path: Option<String>,
}

/// A call to undo.
pub struct ChosenCall<'w> {
    /// Id of its last record.
    pub id: String,
    /// Name of its operation.
    pub operation: String,
    /// Its records, latest first.
    records: Vec<Saved<'w>>,
}

/// A change to undo.
pub struct ChosenEntry<'c, 'w> {
    /// Number of calls that are undone before this change.
    calls_before: usize,
    call: &'c ChosenCall<'w>,
    /// Record of the change.
    pub saved: &'c Saved<'w>,
    /// The change.
    pub entry: &'c Entry,
}

impl ChosenEntry<'_, '_> {
    /// Returns the error of a change that cannot be undone together with others.
    pub fn by_itself(&self) -> Error {
        let (operation, id, path) = (&self.call.operation, &self.call.id, &self.entry.path);
        let cause = format!("the {operation} of `{}` (backup {id}) can only be undone by itself", printable(path));
        let error = Error::argument(Term::Last, format!("{cause}; nothing was changed"));
        let alone = phrase![Term::Backup, format!(" {id} undoes it")];
        match self.calls_before {
            0 => error.hint(alone),
            calls => error.hint(phrase![Term::Last, format!(" {calls} undoes the later ones; then "), alone]),
        }
    }
}

impl<'w> Chosen<'w> {
    /// Returns the entries to undo, latest first.
    pub fn entries(&self) -> Vec<ChosenEntry<'_, 'w>> {
        let concerned = |entry: &Entry| self.path.as_ref().is_none_or(|path| concerns(entry, path));
        let (mut entries, mut destinations) = (Vec::new(), Vec::new());
        for (calls_before, call) in self.calls.iter().enumerate() {
            for saved in &call.records {
                for entry in saved.record.entries.iter().rev() {
                    if let Some(destination) = entry.to.as_deref().filter(|_| concerned(entry)) {
                        destinations.push(destination);
                    }
                    entries.push(ChosenEntry { calls_before, call, saved, entry });
                }
            }
        }
        // The undo of a move also restores the file that the move replaced.
        let is_replaced = |path: &str| destinations.iter().any(|destination| is_at_or_below(path, destination));
        if self.path.is_some() {
            entries.retain(|chosen| concerned(chosen.entry) || is_replaced(&chosen.entry.path));
        }
        entries
    }

    /// Fails if several calls together changed more entries than one call may. A single call can always be undone.
    fn check_count(&self, max: u64) -> Result<()> {
        if self.calls.len() < 2 {
            return Ok(());
        }
        let (entries, mut paths) = (self.entries(), BTreeSet::new());
        let excess = entries.iter().find(|chosen| paths.insert(&chosen.entry.path) && paths.len() as u64 > max);
        let Some(excess) = excess else { return Ok(()) };
        let cause = format!("these calls changed more than {max} files and directories, the maximum of one call");
        let error = Error::new(Code::LimitExceeded, format!("{cause} (`limits.max_files`); nothing was changed"));
        Err(match excess.calls_before {
            0 => error.hint(phrase![Term::Backup, format!(" {} undoes the latest call by itself", excess.call.id)]),
            calls => error.hint(phrase![Term::Last, format!(" {calls} undoes the later ones")]),
        })
    }

    /// Fails, without naming a path, if `.agentignore` hides a path of the entries from the caller.
    pub fn check_visible(&self, workspace: &Workspace<'_>) -> Result<()> {
        let mut entries = self.entries().into_iter().map(|chosen| chosen.entry);
        match entries.any(|entry| entry.paths().any(|path| workspace.is_hidden_from_agent(path))) {
            true => Err(Error::new(Code::Denied, "a backup of these changes holds a path that `.agentignore` hides")
                .hint("undo the changes of other paths one by one, or ask the person who runs this")),
            false => Ok(()),
        }
    }
}

/// Chooses the records to undo, and the entries in them.
pub fn choose<'w>(workspace: &'w Workspace<'w>, args: &request::Restore) -> Result<Chosen<'w>> {
    let path =
        args.path.as_ref().map(|path| workspace.resolve_with(path, OPERATION, FollowSymlinks::No)).transpose()?;
    let path = path.map(|resolved| resolved.path);
    let calls = match (&args.backup, &path, args.last) {
        (Some(_), _, Some(_)) => {
            return Err(Error::argument(Term::Last, phrase!["it contradicts ", Term::Backup]).hint("give one of them"));
        }
        (_, _, Some(last)) if !(1..=MAX_CALLS).contains(&last) => {
            return Err(Error::argument(Term::Last, format!("it has to be from 1 to {MAX_CALLS}")));
        }
        (Some(id), _, None) => vec![call(workspace, Saved::open(workspace, id)?)?],
        (None, _, Some(last)) => newest(workspace, path.as_deref(), last)?,
        (None, Some(path), None) => vec![newest_of(workspace, path)?],
        (None, None, None) => {
            return Err(Error::argument(Term::Path, phrase!["neither it nor ", Term::Backup, " is given"])
                .hint(phrase![Term::Path, " undoes the last change there, ", Term::Backup, " that of a call"])
                .also_hint(phrase![Term::Last, " 3 undoes the last 3 calls"]));
        }
    };
    let chosen = Chosen { calls, path };
    if chosen.entries().is_empty() {
        let id = chosen.calls.first().map(|call| call.id.as_str()).unwrap_or_default();
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
    chosen.check_count(workspace.policy.limits.max_files)?;
    Ok(chosen)
}

/// Opens all records of the call that wrote `last`. A call may have written several records; the latest is undone first.
fn call<'w>(workspace: &'w Workspace<'w>, last: Saved<'w>) -> Result<ChosenCall<'w>> {
    let (id, operation) = (last.id().to_owned(), last.record.operation.clone());
    workspace.pin_backup(&id);
    let mut records = vec![last];
    while let Some(before) = records.last().and_then(|saved| saved.record.before.clone())
        && records.len() < MAX_RECORDS
    {
        workspace.pin_backup(&before);
        records.push(Saved::open(workspace, &before)?);
    }
    Ok(ChosenCall { id, operation, records })
}

/// Returns the newest `last` calls of the workspace, or those that changed `path`.
fn newest<'w>(workspace: &'w Workspace<'w>, path: Option<&str>, last: u32) -> Result<Vec<ChosenCall<'w>>> {
    let last = usize::try_from(last).unwrap_or(usize::MAX);
    let (mut calls, mut seen_ids) = (Vec::new(), BTreeSet::new());
    for (id, _) in backup::ids(workspace)? {
        if calls.len() == last {
            break;
        }
        if seen_ids.contains(&id) {
            continue;
        }
        // A damaged record does not say whether it belongs to this workspace, so `last` cannot skip it safely.
        let saved = Saved::find(workspace, &id)?.ok_or_else(|| {
            Error::new(Code::Io, format!("the backup `{id}` is damaged; nothing was changed"))
                .hint(phrase![Term::Last, format!(" {} undoes the calls after it", calls.len())])
        })?;
        if !saved.record.is_of(workspace) {
            continue;
        }
        let call = call(workspace, saved)?;
        seen_ids.extend(call.records.iter().map(|saved| saved.id().to_owned()));
        let mut entries = call.records.iter().flat_map(|saved| &saved.record.entries);
        if path.is_none_or(|path| entries.any(|entry| concerns(entry, path))) {
            calls.push(call);
        }
    }
    if calls.len() == last {
        return Ok(calls);
    }
    let cause = format!("only {} can be undone; nothing was changed", calls.len());
    Err(Error::argument(Term::Last, cause)
        .hint("only changes by these tools can be restored, and the oldest backups are removed"))
}

/// Returns the newest call with a backup that holds a change of `path`.
fn newest_of<'w>(workspace: &'w Workspace<'w>, path: &str) -> Result<ChosenCall<'w>> {
    for (id, _) in backup::ids(workspace)? {
        // A damaged backup must not hide the others.
        let Some(saved) = Saved::find(workspace, &id)?.filter(|saved| saved.record.is_of(workspace)) else { continue };
        if saved.record.entries.iter().any(|entry| concerns(entry, path)) {
            return call(workspace, saved);
        }
    }
    Err(Error::at(Code::NotFound, OPERATION, path, "no backup holds a change of it")
        .hint("only changes by these tools can be restored, and the oldest backups are removed"))
}

fn concerns(entry: &Entry, path: &str) -> bool {
    let is_in = |name: &str| path == "." || is_at_or_below(name, path);
    is_in(&entry.path) || entry.to.as_deref().is_some_and(is_in)
}

#[cfg(test)]
mod tests {
    use paddock_types::request::{Delete, Request, Restore};
    use paddock_types::response::Response;

    use crate::fixture::Fixture;
    use crate::operation::ChangingOperation;
    use crate::plan_draft::PlanDraft;
    use crate::restore::run;

    use super::*;

    #[test]
    fn several_calls_are_not_undone_beyond_the_limit_of_files() {
        let mut fixture = Fixture::new(&[("d/a", b"1"), ("d/b", b"2"), ("x", b"3"), ("y", b"4")]);
        let delete = |path: &str| {
            let delete = Delete { path: path.to_owned(), recursive: true, files_only: false };
            let Response::Delete(deleted) = fixture.run(Request::Delete(delete)).unwrap().0 else { panic!() };
            deleted.backup
        };
        let [directory, _, _] = ["d", "x", "y"].map(delete);
        let gone = fixture.tree();
        fixture.policy.limits.max_files = 2;
        let restore = |last| fixture.run(Request::Restore(Restore { last: Some(last), ..Restore::default() }));
        let error = restore(3).unwrap_err();
        assert_eq!((error.code, fixture.tree()), (Code::LimitExceeded, gone));
        assert!(
            error.message().contains("limits.max_files") && format!("{error:?}").contains(" 2 undoes"),
            "{error:?}"
        );
        restore(2).unwrap();
        // A single call can always be undone.
        fixture.restore(directory);
        assert_eq!(fixture.tree().iter().filter(|line| line.contains(": ")).count(), 4);
    }

    /// The rule is newer than the change.
    #[test]
    fn an_error_names_no_hidden_path() {
        let fixture = Fixture::new(&[("keys/token", b"x"), ("a.txt", b"x")]);
        let delete = Delete { path: "keys".to_owned(), recursive: true, files_only: false };
        let Response::Delete(deleted) = fixture.run(Request::Delete(delete)).unwrap().0 else { panic!() };
        fixture.put(".agentignore", b"keys/\n");
        for args in
            [Restore { backup: deleted.backup, ..Restore::default() }, Restore { last: Some(1), ..Restore::default() }]
        {
            let request = Request::Restore(args.clone());
            let workspace = crate::open(&fixture.memory, &fixture.policy, request.access()).unwrap();
            let planned = args.plan(&mut PlanDraft::new(&workspace, &request));
            for error in [run(&workspace, &args).unwrap_err(), planned.unwrap_err()] {
                assert_eq!(error.code, Code::Denied);
                assert!(!format!("{error:?}").contains("keys"), "{error:?}");
            }
        }
    }
}
