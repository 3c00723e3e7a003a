//! Deletes a file, symbolic link or directory.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::response::{Change, ChangeKind, Response};
use paddock_types::{phrase, request, response};
use paddock_vfs::open_location::{OpenLocation, temporary_name};
use paddock_vfs::{Fault, copy_remove};
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::{Action, Draft, Entry};
use paddock_workspace::change::journal::Journal;
use paddock_workspace::change::stored_location::StoredLocation;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::tree::Survey;
use paddock_workspace::{Workspace, tree};

use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::recorder::Recorder;

const OPERATION: &str = "delete";

impl Operation for request::Delete {
    fn name(&self) -> &'static str {
        "delete"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Delete)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Delete(delete) = response else { return };
        recorder.add(&delete.path);
    }
}

impl ChangingOperation for request::Delete {
    fn can_delete(&self) -> bool {
        true
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        draft.add("delete", &self.path).map(|()| true)
    }
}

/// Deletes a file, symbolic link or directory.
pub fn run(workspace: &Workspace<'_>, args: &request::Delete) -> Result<response::Delete> {
    let resolved = workspace.resolve_with(&args.path, OPERATION, FollowSymlinks::No)?;
    let stat = resolved.existing(workspace, OPERATION)?;
    if resolved.is_root() {
        return Err(Error::at(Code::InvalidPath, OPERATION, &args.path, "it is the workspace itself")
            .hint("delete its entries"));
    }
    if args.files_only && stat.kind == Kind::Directory {
        return Err(resolved
            .not_a_file(OPERATION, stat.kind)
            .hint("this tool deletes files only: delete the files in the directory one by one"));
    }
    workspace.check_change(&resolved, OPERATION)?;
    workspace.check_movable(&resolved, OPERATION)?;
    let to_error = |fault: Fault| match fault {
        Fault::NotEmpty => fault
            .at(OPERATION, &args.path)
            .hint(phrase![Term::Recursive, " deletes a directory with all it holds"])
            .or_hint("delete its entries first"),
        fault => fault.at(OPERATION, &args.path),
    };
    let mut notes = Vec::new();
    let entries_deleted = match stat.kind {
        Kind::Directory if !args.recursive => {
            keep_empty(workspace, &resolved)?;
            let removed =
                workspace.fs.remove_dir(&resolved.dir, &resolved.name).inspect_err(|_| backup::forget(workspace));
            removed.and_then(|()| workspace.fs.sync_dir(&resolved.dir)).map(|()| 1).map_err(to_error)?
        }
        Kind::Directory => {
            let survey = check_tree(workspace, &resolved)?;
            notes.extend(keep(workspace, &resolved, survey.bytes)?);
            take_away(workspace, &resolved)?;
            survey.files + survey.directories + survey.special
        }
        Kind::File | Kind::Link | Kind::Other => {
            notes.extend(keep(workspace, &resolved, stat.size)?);
            take_away(workspace, &resolved)?;
            1
        }
    };
    workspace.changed(Change { kind: ChangeKind::Deleted, path: resolved.path.clone(), to: None, size: None });
    Ok(response::Delete { path: resolved.path, entries_deleted, backup: workspace.backup(), notes })
}

/// Surveys a tree and refuses to delete it if it contains an entry that may not be changed.
fn check_tree(workspace: &Workspace<'_>, resolved: &ResolvedPath) -> Result<Survey> {
    let survey = tree::survey(workspace, resolved, OPERATION, workspace.policy.limits.max_files, resolved.depth())?;
    survey.refuse_denied(resolved, OPERATION)?;
    survey.refuse_protected(workspace, resolved, OPERATION)?;
    survey.refuse_unnamed(resolved, OPERATION)?;
    Ok(survey)
}

/// Writes the backup of an empty directory; a directory with entries is not removed.
fn keep_empty(workspace: &Workspace<'_>, resolved: &ResolvedPath) -> Result<()> {
    let Some(mut draft) = Draft::begin(workspace, OPERATION)? else { return Ok(()) };
    let mode = workspace.fs.mode(&resolved.dir, &resolved.name);
    draft.add(Entry { mode, ..Entry::of(Action::Deleted, &resolved.path, Kind::Directory) }, None)?;
    draft.finish()
}

/// Writes the backup of the entries to delete, `bytes` in total. Returns a note about entries without a backup.
fn keep(workspace: &Workspace<'_>, resolved: &ResolvedPath, bytes: u64) -> Result<Option<String>> {
    if let Some(note) = backup::too_large(workspace, bytes) {
        return Ok(Some(note));
    }
    let Some(mut draft) = Draft::begin(workspace, OPERATION)? else { return Ok(None) };
    let top = resolved.location();
    let kind = resolved.stat.map_or(Kind::File, |stat| stat.kind);
    let mut lost = Vec::new();
    let add = |path: &str, location: &OpenLocation, kind: Kind| match kind {
        Kind::File => draft.add_file(Action::Deleted, path, location),
        Kind::Link | Kind::Other | Kind::Directory => {
            let target = workspace.fs.read_link(&location.dir, &location.name).ok().filter(|_| kind == Kind::Link);
            if target.is_none() && kind != Kind::Directory {
                lost.push(path.to_owned());
            }
            let mode = location.mode(workspace.fs).filter(|_| kind == Kind::Directory);
            draft.add(Entry { target, mode, ..Entry::of(Action::Deleted, path, kind) }, None)
        }
    };
    tree::each(workspace.fs, &resolved.path, top, kind, add, |fault| fault.at(OPERATION, &resolved.requested_path))?;
    draft.finish().map(|()| unrestorable(&lost))
}

/// Returns the note about deleted entries that a backup cannot hold: WASI does not report the target of an absolute
/// link, and creates no special files.
fn unrestorable(paths: &[String]) -> Option<String> {
    let first = printable(paths.first()?);
    let more = if paths.len() > 1 { format!(" and {} more", paths.len() - 1) } else { String::new() };
    Some(format!(
        "no backup of `{first}`{more}: a link with an absolute target, a FIFO, socket or device cannot be restored"
    ))
}

/// Renames the entry to a temporary sibling, then removes it. After a crash, recovery removes the rest.
fn take_away(workspace: &Workspace<'_>, resolved: &ResolvedPath) -> Result<()> {
    let fs = workspace.fs;
    let location = resolved.location();
    if resolved.stat.is_some_and(|stat| stat.kind == Kind::Directory) {
        match fs.remove_tree(&location.dir, &location.name) {
            Err(Fault::Unsupported) => {}
            Err(fault) => {
                backup::forget(workspace);
                return Err(fault.at(OPERATION, &resolved.requested_path));
            }
            Ok(()) => return fs.sync_dir(&location.dir).map_err(|fault| fault.at(OPERATION, &resolved.requested_path)),
        }
    }
    let aside = location.sibling(&temporary_name(fs));
    let debris = vec![StoredLocation::of(workspace, resolved).sibling(&aside.name)];
    let journal = Journal { debris, ..Journal::default() };
    journal.write(workspace).inspect_err(|_| backup::forget(workspace))?;
    let moved = match location.rename(fs, &aside) {
        // An overlay cannot rename this entry; a whiteout is enough to hide it.
        Err(Fault::Unsupported | Fault::Outside) => location.discard(fs),
        other => other,
    };
    let moved = moved.and_then(|()| fs.sync_dir(&location.dir));
    let removed = moved.and_then(|()| copy_remove::remove(fs, &aside));
    // After a failure the rest is renamed back, if the first rename succeeded.
    let is_put_back = removed.is_err() && aside.rename(fs, &location).is_ok();
    if is_put_back {
        backup::forget(workspace);
    }
    // A journal that cannot be removed can only lead to the removal of the temporary sibling.
    drop(journal.tidy(workspace));
    removed.map_err(|fault| match (is_put_back, fault.at(OPERATION, &resolved.requested_path)) {
        (true, error) => error.hint("the entries that could not be deleted still exist"),
        (false, error) => error,
    })
}
