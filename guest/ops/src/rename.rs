//! Moves a file, symbolic link or directory.

use paddock_types::entry::Kind;
use paddock_types::error::Result;
use paddock_types::response::{Change, ChangeKind, Response};
use paddock_types::{request, response};
use paddock_vfs::open_location::{OpenLocation, temporary_name};
use paddock_vfs::{Fault, Filesystem, FsResult};
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::{Action, Draft, Entry};
use paddock_workspace::change::commit::commit;
use paddock_workspace::change::directories::{directories_to_make, make_missing};
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::change::journal::Journal;
use paddock_workspace::change::stored_location::StoredLocation;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::{Workspace, tree};

use crate::copy;
use crate::copy::ends;
use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::recorder::Recorder;

const OPERATION: &str = "move";

impl Operation for request::Move {
    fn name(&self) -> &'static str {
        "move"
    }

    fn requested_paths(&self) -> Vec<String> {
        self.0.requested_paths()
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, &self.0).map(Response::Move)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Move(transfer) = response else { return };
        recorder.add_transfer(transfer);
    }
}

impl ChangingOperation for request::Move {
    fn can_delete(&self) -> bool {
        self.0.overwrite
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        copy::plan(draft, &self.0, OPERATION)
    }
}

/// Moves a file, symbolic link or directory.
pub fn run(workspace: &Workspace<'_>, args: &request::Transfer) -> Result<response::Transfer> {
    let (source, target) = ends(workspace, args, OPERATION)?;
    workspace.check_change(&source, OPERATION)?;
    workspace.check_movable(&source, OPERATION)?;
    let stat = source.existing(workspace, OPERATION)?;
    let (mut files, mut bytes, mut notes) = (1, stat.size, Vec::new());
    match stat.kind {
        Kind::Directory => (files, bytes) = move_dir(workspace, &source, &target)?,
        Kind::File if target.stat.is_none() && stat.size <= workspace.policy.limits.max_file_bytes => {
            notes = move_file(workspace, &source, &target)?;
        }
        _ => notes.extend(rename(workspace, &source, &target)?),
    }
    let (source, destination) = (source.path, target.path);
    Ok(response::Transfer { source, destination, files, bytes, backup: workspace.backup(), notes })
}

/// Moves a file so that a crash leaves it under exactly one name.
fn move_file(workspace: &Workspace<'_>, source: &ResolvedPath, target: &ResolvedPath) -> Result<Vec<String>> {
    let content = source.content(workspace, OPERATION)?;
    let (old, new) = (Some(content.clone()), Some(content));
    commit(workspace, OPERATION, vec![FileChange { resolved: source.clone(), old, new, to: Some(target.clone()) }])
}

fn move_dir(workspace: &Workspace<'_>, source: &ResolvedPath, target: &ResolvedPath) -> Result<(u64, u64)> {
    let survey = tree::survey(workspace, source, OPERATION, workspace.policy.limits.max_entries, target.depth())?;
    survey.refuse_denied(source, OPERATION)?;
    survey.refuse_protected(workspace, source, OPERATION)?;
    // Access rules apply to these entries too, but cannot be evaluated for names that are not UTF-8.
    survey.refuse_unnamed(source, OPERATION)?;
    rename(workspace, source, target)?;
    Ok((survey.files, survey.bytes))
}

/// Writes the backup of the move and of the overwritten file. Returns a note if that file exceeds the size of backups.
fn keep(workspace: &Workspace<'_>, source: &ResolvedPath, target: &ResolvedPath) -> Result<Option<String>> {
    let Some(mut draft) = Draft::begin(workspace, OPERATION)? else { return Ok(None) };
    draft.add_created_dirs(&directories_to_make(workspace, target))?;
    let note = target.stat.and_then(|stat| backup::too_large(workspace, stat.size));
    if target.stat.is_some() && note.is_none() {
        let location = target.location();
        draft.add_file(Action::Deleted, &target.path, &location)?;
    }
    let kind = source.stat.map_or(Kind::File, |stat| stat.kind);
    draft.add(Entry { to: Some(target.path.clone()), ..Entry::of(Action::Moved, &source.path, kind) }, None)?;
    draft.finish()?;
    Ok(note)
}

/// Renames the source. A link, FIFO or very large file is hard-linked and unlinked instead, so that no entry created in
/// the meantime is replaced; a crash in between leaves both names.
fn rename(workspace: &Workspace<'_>, source: &ResolvedPath, target: &ResolvedPath) -> Result<Option<String>> {
    let fs = workspace.fs;
    let note = keep(workspace, source, target)?;
    let aside = StoredLocation::of(workspace, target).sibling(&temporary_name(fs));
    let journal = Journal {
        directories: directories_to_make(workspace, target),
        debris: target.stat.map(|_| aside.clone()).into_iter().collect(),
        ..Journal::default()
    };
    let is_journaled = !journal.directories.is_empty() || !journal.debris.is_empty();
    if is_journaled {
        journal.write(workspace).inspect_err(|_| backup::forget(workspace))?;
    }
    let mut created_dirs = Vec::new();
    let result = make_missing(fs, target, &mut created_dirs).and_then(|dir| {
        let to = OpenLocation { dir, name: target.name.clone() };
        put(fs, source, &to, target.stat.map(|_| to.sibling(&aside.name)).as_ref())
    });
    if result.is_err() {
        backup::forget(workspace);
        created_dirs.iter().rev().for_each(|location| drop(fs.remove_dir(&location.dir, &location.name)));
    }
    if is_journaled {
        // A journal that cannot be removed can only lead to the removal of the temporary sibling.
        drop(journal.tidy(workspace));
    }
    result.map_err(|fault| match fault {
        Fault::CrossDevice => fault.at(OPERATION, &target.requested_path).hint("copy it, then delete the source"),
        fault => fault.at(OPERATION, &target.requested_path),
    })?;
    let (path, to) = (source.path.clone(), Some(target.path.clone()));
    let size = source.stat.filter(|stat| stat.kind == Kind::File).map(|stat| stat.size);
    workspace.changed(Change { kind: ChangeKind::Moved, path, to, size });
    Ok(note)
}

/// Renames the source and syncs, or restores the old state. `aside` holds the overwritten file until the rename is
/// durable.
fn put(fs: &dyn Filesystem, source: &ResolvedPath, to: &OpenLocation, aside: Option<&OpenLocation>) -> FsResult<()> {
    let from = source.location();
    let is_dir = source.stat.is_some_and(|stat| stat.kind == Kind::Directory);
    if let Some(aside) = aside {
        // If the file system refuses a second name, only the backup can restore the overwritten file.
        drop(to.link(fs, aside));
    }
    match (is_dir, aside) {
        (false, None) => from.move_to_free(fs, to)?,
        (true, None) if fs.stat(&to.dir, &to.name) != Err(Fault::NotFound) => return Err(Fault::Exists),
        _ => from.rename(fs, to)?,
    }
    let sync = || fs.sync_dir(&from.dir).and_then(|()| fs.sync_dir(&to.dir));
    let take_back = || {
        to.rename(fs, &from)?;
        aside.map_or(Ok(()), |aside| aside.rename(fs, to))
    };
    sync().inspect_err(|_| drop(take_back()))
}
