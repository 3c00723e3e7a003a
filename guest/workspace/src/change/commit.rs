//! Changes of files, all of them or none, that survive a crash at any point.
//!
//! The whole change is planned in memory. Then the journal is made durable, then every
//! new content as a temporary sibling, then the steps are applied: a new file is
//! linked to its name, which fails if the name exists; an existing file is replaced
//! by a rename, and a second link retains the old file until the change is complete.
//! If the host does not carry mode bits over at a rename, an existing file is
//! rewritten in place instead, from the temporary copy, which a later call
//! replays. After an error, the applied steps are undone.

use crate::change::directories::{all_directories, make, make_missing};
use std::collections::{BTreeMap, HashSet};

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result};
use paddock_types::policy::HardLinks;
use paddock_types::response::{Change, ChangeKind};
use paddock_vfs::content::FileContent;
use paddock_vfs::open_location::{OpenLocation, private_name, temporary_name};
use paddock_vfs::{Fault, Filesystem};

use crate::Workspace;
use crate::change::backup;
use crate::change::backup::{Action, Draft, Entry};
use crate::change::file_change::FileChange;
use crate::change::file_modes::FileModes;
use crate::change::journal::Journal;
use crate::change::step::{Step, Work};
use crate::change::stored_location::StoredLocation;
use crate::resolved_path::ResolvedPath;
use crate::tree::OWNER;

/// Changes that are made together.
#[derive(Default)]
pub struct Changes {
    /// Changes of files.
    pub files: Vec<FileChange>,
    /// Directories to create, with or without files in them.
    pub directories: Vec<ResolvedPath>,
    /// Changes of links and directories that the caller makes afterwards; the backup records them.
    pub others: Vec<Entry>,
    /// Permission bits of new directories, and of files after their change, by path. A change of a file whose content
    /// stays only sets them.
    pub modes: BTreeMap<String, u32>,
}

/// Makes changes of files, all of them or none, as [`commit_all`] does.
pub fn commit(workspace: &Workspace<'_>, operation: &str, files: Vec<FileChange>) -> Result<Vec<String>> {
    commit_all(workspace, operation, Changes { files, ..Changes::default() })
}

/// Makes the changes, all of them or none, durably, and records them in the
/// workspace's list. Returns notes for the caller, such as a hard link that was
/// broken. Checks rights and rules itself (`Workspace::check_change`).
pub fn commit_all(workspace: &Workspace<'_>, operation: &str, changes: Changes) -> Result<Vec<String>> {
    let Changes { files: mut changes, directories, others, modes } = changes;
    let mut notes = Vec::new();
    let mut journal = Journal { directories: all_directories(workspace, &changes, &directories), ..Journal::default() };
    directories.iter().try_for_each(|resolved| workspace.check_change(resolved, operation))?;
    for change in &mut changes {
        check(workspace, operation, change)?;
        let step = plan(workspace, operation, (change, &modes), &mut notes)?;
        if step.in_place {
            hold(workspace, operation, change)?;
        }
        journal.steps.push(step);
    }
    if changes.is_empty() && directories.is_empty() && others.is_empty() {
        return Ok(notes);
    }
    let before = workspace.backup();
    notes.extend(keep(workspace, operation, (&changes, &modes), &journal, others)?);
    // If this change has no backup, the last backup belongs to an earlier change and must stay.
    let forget = || {
        if workspace.backup() != before {
            backup::forget(workspace);
        }
    };
    if changes.is_empty() && directories.is_empty() {
        return Ok(notes);
    }
    journal.write(workspace).inspect_err(|_| forget())?;
    let (mut created_dirs, mut file_modes) = (Vec::new(), FileModes::new(&modes));
    let carried_out = prepare(workspace, operation, (&changes, &directories, &modes), &journal, &mut created_dirs)
        .and_then(|works| carry_out(workspace, operation, &works, &journal, &mut file_modes))
        .and_then(|()| give_modes(workspace, operation, &journal, &modes, 0));
    match carried_out {
        Ok(()) => {
            directories.iter().for_each(|resolved| record_directory(workspace, resolved));
            changes.iter().for_each(|change| record(workspace, change));
            Ok(notes)
        }
        Err(error) => {
            let error = take_back(workspace, &changes, &journal, &created_dirs, error, forget);
            file_modes.take_back(workspace.fs);
            Err(error)
        }
    }
}

/// Writes the backup of the replaced and removed content. Returns a note instead if the content is too large.
fn keep(
    workspace: &Workspace<'_>,
    operation: &str,
    (changes, modes): (&[FileChange], &BTreeMap<String, u32>),
    journal: &Journal,
    others: Vec<Entry>,
) -> Result<Option<String>> {
    let stored = changes.iter().filter_map(FileChange::replaced).filter(|old| matches!(old, FileContent::FileRange(_)));
    if let Some(note) = backup::too_large(workspace, stored.map(FileContent::size).sum()) {
        return Ok(Some(note));
    }
    let Some(mut draft) = Draft::begin(workspace, operation)? else { return Ok(None) };
    others.into_iter().try_for_each(|entry| draft.add(entry, None))?;
    draft.add_created_dirs(&journal.directories)?;
    for change in changes {
        let (path, after) = (&change.resolved.path, change.new.as_ref());
        let action = match (&change.to, &change.old, &change.new) {
            (Some(_), _, _) => Action::Moved,
            (None, None, _) => Action::Created,
            (None, Some(_), Some(_)) => Action::Modified,
            (None, Some(_), None) => Action::Deleted,
        };
        let to = change.to.as_ref().map(|to| to.path.clone());
        let has_mode = change.replaced().is_some() || (change.old.is_some() && modes.contains_key(change.path()));
        let mode = if has_mode { change.resolved.location().mode(workspace.fs) } else { None };
        draft.add(Entry { to, mode, ..Entry::file(action, path, after) }, change.replaced())?;
    }
    draft.finish().map(|()| None)
}

/// Creates the directories, and writes every new content to a temporary sibling of its target.
fn prepare<'c>(
    workspace: &Workspace<'_>,
    operation: &str,
    (changes, directories, modes): (&'c [FileChange], &[ResolvedPath], &BTreeMap<String, u32>),
    journal: &'c Journal,
    created_dirs: &mut Vec<OpenLocation>,
) -> Result<Vec<(Work<'c>, &'c FileChange)>> {
    let fs = workspace.fs;
    // Directories come first: recovery decides by the temporary files, and a finished change needs its directories.
    for resolved in directories {
        let above = make_missing(fs, resolved, created_dirs);
        above
            .and_then(|above| make(fs, &above, &resolved.name, created_dirs))
            .map_err(|fault| fault.at(operation, &resolved.requested_path))?;
    }
    let mut works = Vec::new();
    for (change, step) in changes.iter().zip(&journal.steps) {
        let to_error = |fault: Fault| fault.at(operation, &change.resolved.requested_path);
        let dir = make_missing(fs, &change.resolved, created_dirs).map_err(to_error)?;
        let to = change.to.as_ref().map(|to| make_missing(fs, to, created_dirs)).transpose().map_err(to_error)?;
        works.push((step.at(dir, to), change));
    }
    // The permission bits are set before a directory contains a file. The owner retains access until the change is
    // complete.
    give_modes(workspace, operation, journal, modes, OWNER)?;
    for (work, change) in &works {
        if let (Some(temporary), Some(new)) = (&work.temporary, &change.new) {
            let mut created = temporary.create(fs, new);
            if created.is_ok() && change.old.is_none() {
                new.give_mode(fs, temporary);
                if let Some(mode) = modes.get(change.path()) {
                    created = fs.set_mode(&temporary.dir, &temporary.name, *mode);
                }
            }
            created.map_err(|fault| fault.at(operation, &change.resolved.requested_path))?;
        }
    }
    Ok(works)
}

/// Sets the permission bits of the new directories to `modes`, combined with the bits in `more`.
fn give_modes(
    workspace: &Workspace<'_>,
    operation: &str,
    journal: &Journal,
    modes: &BTreeMap<String, u32>,
    more: u32,
) -> Result<()> {
    // Inner directories come first: the new bits of an outer directory can make them inaccessible.
    for stored_location in journal.directories.iter().rev() {
        let Some(mode) = modes.get(&stored_location.path()) else { continue };
        let requested_path = stored_location
            .open(workspace)
            .and_then(|location| workspace.fs.set_mode(&location.dir, &location.name, mode | more));
        requested_path.map_err(|fault| fault.at(operation, &stored_location.path()))?;
    }
    Ok(())
}

fn carry_out(
    workspace: &Workspace<'_>,
    operation: &str,
    works: &[(Work<'_>, &FileChange)],
    journal: &Journal,
    modes: &mut FileModes<'_>,
) -> Result<()> {
    let fs = workspace.fs;
    if works.len() > 1 || journal.steps.iter().any(|step| step.in_place) {
        // Before the first step is applied, the temporary files of all steps must be durable.
        sync_all(fs, operation, works)?;
    }
    for (work, change) in works {
        work.check_fresh(fs, operation, change)?;
    }
    for (work, change) in works {
        modes.narrow(fs, change);
        work.apply(fs)
            .and_then(|()| modes.set(fs, change, work.result()))
            .map_err(|fault| fault.at(operation, &change.resolved.requested_path))?;
    }
    sync_all(fs, operation, works)?;
    let tidied = tidy(workspace, operation, works, journal);
    // The change is durable, and a later call cleans up by the journal if this cleanup failed. But recovery with a
    // journal without steps would remove the new directories, so then the error counts.
    if works.is_empty() { tidied } else { Ok(()) }
}

/// Removes the temporary files and backups of the steps, and then the journal, once the removals are durable.
fn tidy(
    workspace: &Workspace<'_>,
    operation: &str,
    works: &[(Work<'_>, &FileChange)],
    journal: &Journal,
) -> Result<()> {
    let to_error = |fault: Fault| fault.at(operation, "the journal");
    works.iter().try_for_each(|(work, _)| work.clean_applied(workspace.fs)).map_err(to_error)?;
    sync_all(workspace.fs, operation, works)?;
    journal.clear(workspace).map_err(to_error)
}

/// Makes the directory entries that the steps changed durable, with one sync per directory.
fn sync_all(fs: &dyn Filesystem, operation: &str, works: &[(Work<'_>, &FileChange)]) -> Result<()> {
    let mut synced = HashSet::new();
    for (work, change) in works {
        for (stored_location, location) in work.directories() {
            if synced.insert((&stored_location.root, &stored_location.above)) {
                fs.sync_dir(&location.dir).map_err(|fault| fault.at(operation, &change.resolved.requested_path))?;
            }
        }
    }
    Ok(())
}

/// Undoes a change after an error. If that fails too, the journal remains for a later call.
fn take_back(
    workspace: &Workspace<'_>,
    changes: &[FileChange],
    journal: &Journal,
    created_dirs: &[OpenLocation],
    error: Error,
    forget: impl FnOnce(),
) -> Error {
    let fs = workspace.fs;
    let undone = journal.steps.iter().zip(changes).rev().try_for_each(|(step, change)| match step.open(workspace) {
        Ok(work) => work.undo(fs, change.old.as_ref()).and_then(|()| work.sync(fs)).and_then(|()| work.tidy(fs)),
        Err(Fault::NotFound) => Ok(()),
        Err(fault) => Err(fault),
    });
    let undone = undone.and_then(|()| {
        created_dirs.iter().rev().try_for_each(|location| match fs.remove_dir(&location.dir, &location.name) {
            Err(Fault::NotEmpty | Fault::NotFound) => Ok(()),
            other => other,
        })
    });
    match undone.and_then(|()| journal.clear(workspace)) {
        Ok(()) => {
            forget();
            error
        }
        Err(_) => error
            .and_then("undoing the partial change failed too")
            .hint("a later call finishes or undoes the change; read the files again before the next one"),
    }
}

fn check(workspace: &Workspace<'_>, operation: &str, change: &FileChange) -> Result<()> {
    for resolved in [Some(&change.resolved), change.to.as_ref()].into_iter().flatten() {
        workspace.check_change(resolved, operation)?;
        if resolved.stat.is_none() {
            workspace.check_new_file(resolved, operation)?;
        }
        if resolved.is_root() {
            return Err(resolved.not_a_file(operation, Kind::Directory));
        }
    }
    let limit = workspace.policy.limits.max_file_bytes;
    if let Some(FileContent::Bytes(new, _)) = change.new.as_ref().filter(|new| new.size() > limit) {
        return Err(workspace.too_large(&change.resolved, operation, new.len() as u64));
    }
    if let Some(there) = change.to.as_ref().filter(|to| to.stat.is_some()) {
        return Err(Fault::Exists.at(operation, &there.requested_path));
    }
    match (&change.old, change.resolved.stat) {
        (None, Some(_)) => Err(Fault::Exists.at(operation, &change.resolved.requested_path)),
        (Some(_), None) => Err(Fault::NotFound.at(operation, &change.resolved.requested_path)),
        _ => Ok(()),
    }
}

/// Reads the present content into memory, because a file that is rewritten in place can be restored only from there.
fn hold(workspace: &Workspace<'_>, operation: &str, change: &mut FileChange) -> Result<()> {
    let Some(old) = &change.old else { return Ok(()) };
    if old.size() > workspace.policy.limits.max_file_bytes {
        return Err(workspace.too_large(&change.resolved, operation, old.size()));
    }
    change.old = Some(old.load(workspace.fs).map_err(|fault| fault.at(operation, &change.resolved.requested_path))?);
    Ok(())
}

fn plan(
    workspace: &Workspace<'_>,
    operation: &str,
    (change, modes): (&FileChange, &BTreeMap<String, u32>),
    notes: &mut Vec<String>,
) -> Result<Step> {
    let policy = workspace.policy;
    let links = change.resolved.stat.map_or(1, |stat| stat.links);
    let rewritten = change.old.is_some() && change.new.is_some() && change.old != change.new;
    let shared = rewritten && links > 1;
    if shared && policy.hard_links == HardLinks::Refuse {
        let cause = format!("it has {links} hard links, and the others may be outside the workspace");
        return Err(Error::at(Code::Denied, operation, &change.resolved.requested_path, cause)
            .hint("copy it, and change the copy; or ask the person who runs this"));
    }
    let keep = policy.hard_links == HardLinks::Keep;
    let in_place = rewritten && if shared { keep } else { !policy.host.carries_modes };
    if shared && !in_place {
        let others = links - 1;
        notes.push(format!("`{}` had {others} other hard link(s), which keep the old content", change.resolved.path));
    }
    let has_temporary = change.new.is_some() && change.old != change.new;
    Ok(Step {
        target: StoredLocation::of(workspace, &change.resolved),
        to: change.to.as_ref().map(|to| StoredLocation::of(workspace, to)),
        temporary: has_temporary.then(|| temporary(workspace, change, modes)),
        backup: temporary_name(workspace.fs),
        old: change.old.as_ref().map(|old| old.sha256().to_owned()),
        new: change.new.as_ref().map(|new| new.sha256().to_owned()),
        in_place,
    })
}

/// Returns the name of the temporary file. The file is private to its owner if it later gets the mode of the old file
/// or a known mode.
fn temporary(workspace: &Workspace<'_>, change: &FileChange, modes: &BTreeMap<String, u32>) -> String {
    let has_mode = change.old.is_some() || modes.contains_key(change.path());
    if has_mode { private_name(workspace.fs) } else { temporary_name(workspace.fs) }
}

fn record(workspace: &Workspace<'_>, change: &FileChange) {
    let size = change.new.as_ref().map(FileContent::size);
    let path = change.resolved.path.clone();
    let (kind, to) = match (&change.to, &change.old, &change.new) {
        (Some(to), _, _) => (ChangeKind::Moved, Some(to.path.clone())),
        (None, None, _) => (ChangeKind::Created, None),
        (None, Some(_), Some(_)) => (ChangeKind::Modified, None),
        (None, Some(_), None) => (ChangeKind::Deleted, None),
    };
    workspace.changed(Change { kind, path, to, size });
}

fn record_directory(workspace: &Workspace<'_>, resolved: &ResolvedPath) {
    workspace.changed(Change { kind: ChangeKind::Created, path: resolved.path.clone(), to: None, size: None });
}

#[cfg(test)]
mod tests;
