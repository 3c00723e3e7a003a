//! Commits changes of an overlay to its base, all of the chosen ones or none.
//!
//! Files and new directories form one journaled change. Symbolic links, removed directories and entries that change
//! their kind need several changes. In that case a note in the state directory marks the commit as unfinished, and the
//! next call that finds the note completes it.

use std::collections::BTreeMap;

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result};
use paddock_types::request::Restore;
use paddock_types::response::Change;
use paddock_vfs::bytes::read_up_to;
use paddock_vfs::content::FileContent;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::overlay::whiteouts::BaseEntry;
use paddock_vfs::overlay::{Difference, Is};
use paddock_vfs::{Dir, Fault, FsResult, Open};
use paddock_workspace::Workspace;
use paddock_workspace::change::backup::{Action, Entry};
use paddock_workspace::change::commit::{Changes, commit_all};
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::change::links;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;
use serde::{Deserialize, Serialize};

use crate::overlay::plan::{CommitAction, Conflict, Plan, TargetState, moved};
use crate::overlay::{Transaction, failed};
use crate::restore;

const OPERATION: &str = "commit";
/// Name of the note in the state directory.
const NOTE: &str = "commit";
const UNFINISHED: &str = "commit.new";
/// Directory of the overlays in the state directory.
const OVERLAYS: &str = "overlays";
const MAX_NOTE: u64 = 16 * 1024 * 1024;

/// Changes to commit.
#[derive(Clone, Debug, Default)]
pub struct CommitArgs {
    /// Name of the overlay in the state directory.
    pub overlay: String,
    /// Paths to commit, with everything below them; empty for all.
    pub paths: Vec<String>,
    /// Whether to merge texts that both sides changed in different places.
    pub merge: bool,
}

/// Result of a commit; nothing was changed if there are conflicts.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// Changes of the base, in order.
    pub changes: Vec<Change>,
    /// Paths whose text was merged.
    pub merged: Vec<String>,
    /// Paths that changed in the base as well.
    pub conflicts: Vec<Conflict>,
    /// Identifier of the backup that undoes the commit.
    pub backup: Option<String>,
    /// Further notes.
    pub notes: Vec<String>,
}

impl Transaction<'_> {
    /// Applies the chosen changes to the base. They stay in the overlay until [`Self::settle`] removes them. The base
    /// must be open for changes and recovered.
    ///
    /// # Errors
    ///
    /// `Code::NotFound` if nothing differs at one of the paths, `Code::ChangedSinceRead` if the base changes during the
    /// commit. Changes made before an error are undone; if that fails too, the message says so.
    pub fn commit(&self, base: &Workspace<'_>, args: &CommitArgs) -> Result<Commit> {
        let chosen = self.choose(&args.paths)?;
        let Plan { acts, conflicts } = self.plan(&chosen, args.merge)?;
        if !conflicts.is_empty() {
            return Ok(Commit { conflicts, ..Commit::default() });
        }
        let merged = acts.iter().filter(|act| act.is_merged).map(|act| act.path.clone()).collect();
        let takes_several = acts.iter().any(CommitAction::is_no_file_change);
        if takes_several {
            note(base, &Note::of(self, args, &chosen)).map_err(|fault| {
                // The note may not be durable, so recovery must not rely on it.
                drop(forget(base));
                failed("record the commit of the overlay", &fault)
            })?;
        }
        let notes = make(base, acts).map_err(|error| take_back(base, error));
        if takes_several && (notes.is_ok() || base.changes().is_empty()) {
            forget(base).map_err(|fault| failed("remove the record of the commit of the overlay", &fault))?;
        }
        Ok(Commit { changes: base.take_changes(), merged, conflicts, backup: base.backup(), notes: notes? })
    }

    /// Completes a commit that a crash interrupted. A path that has changed since in the base or in the overlay is left
    /// alone.
    fn finish(&self, base: &Workspace<'_>, note: &Note) -> Result<()> {
        let fail = |fault| failed("compare", &fault);
        let all = self.choose(&[])?;
        let now: Vec<_> = self.now(&all)?.into_iter().map(|(now, _)| now).collect();
        let mut acts = Vec::new();
        let (mut whole, mut left): (Vec<&Difference>, Vec<&Difference>) = (Vec::new(), Vec::new());
        for (at, (difference, now_there)) in all.iter().zip(&now).enumerate() {
            let is_below = |above: &&Difference| difference.is_in(above);
            let is_planned = note.planned.get(&self.path(difference)) == Some(&version(difference))
                || (difference.is.is_none() && whole.iter().any(is_below));
            // An earlier step of this commit may have removed the entry.
            let is_unchanged = *now_there == difference.was || now_there.is_none();
            let is_ours =
                is_unchanged || (difference.hides_directory() && is_begun(difference, all.iter().zip(&now).skip(at)));
            let hidden = difference.hides_directory().then_some(difference);
            if !is_planned || left.iter().any(is_below) || (hidden.is_some() && !is_ours) {
                left.extend(hidden);
                continue;
            }
            whole.extend(hidden);
            if difference.is_unchanged() || difference.is_same(now_there.as_ref()) {
                continue;
            }
            if is_ours {
                acts.push(self.act(difference, now_there.as_ref()).map_err(fail)?);
            } else if note.merge {
                acts.extend(self.merged(difference, now_there.as_ref()).map_err(fail)?);
            }
        }
        match make(base, acts) {
            Err(error) if matches!(error.code, Code::NoSpace | Code::Io | Code::PermissionDenied) => Err(error),
            // Another process changed the base; its version stays.
            _ => Ok(()),
        }
    }
}

/// Returns whether a commit that was interrupted can have left the base's directory in its present state: each entry is a
/// directory or that of the overlay. A commit removes all files of a directory first. `from` are the directory and the
/// differences after it, with the base's present entries.
fn is_begun<'d>(directory: &Difference, from: impl Iterator<Item = (&'d Difference, &'d Option<BaseEntry>)>) -> bool {
    let mut within = from.take_while(|(difference, _)| difference.is_in(directory));
    within.all(|(difference, now)| {
        matches!(now, None | Some(BaseEntry::Directory { .. })) || difference.is_same(now.as_ref())
    })
}

/// The record of a commit of several changes, which is in the state directory while the commit is made.
#[derive(Serialize, Deserialize)]
struct Note {
    /// As in [`CommitArgs`].
    overlay: String,
    merge: bool,
    /// The [`version`] of each entry of the overlay that is committed, by its path, but for entries that are gone with a
    /// directory above them.
    planned: BTreeMap<String, String>,
}

impl Note {
    fn of(transaction: &Transaction<'_>, args: &CommitArgs, chosen: &[Difference]) -> Self {
        let mut planned = BTreeMap::new();
        let mut whole: Option<&Difference> = None;
        for difference in chosen {
            let is_below = whole.is_some_and(|above| difference.is_in(above));
            if !is_below {
                whole = difference.hides_directory().then_some(difference);
            }
            if !is_below || difference.is.is_some() {
                planned.insert(transaction.path(difference), version(difference));
            }
        }
        Self { overlay: args.overlay.clone(), merge: args.merge, planned }
    }
}

/// Returns a text that changes with the overlay's entry.
fn version(difference: &Difference) -> String {
    match &difference.is {
        None => "none".to_owned(),
        Some(Is::File { sha256, .. }) => sha256.clone(),
        Some(Is::Directory) => "directory".to_owned(),
        Some(Is::Link { target }) => ["link to ", target.as_deref().unwrap_or_default()].concat(),
        Some(Is::Other) => "other".to_owned(),
    }
}

/// Completes the commit of an overlay that a crash interrupted between two changes.
pub fn recover(workspace: &Workspace<'_>) -> Result<()> {
    let Some(note) =
        read_note(workspace).map_err(|fault| failed("read the record of the commit of the overlay", &fault))?
    else {
        return Ok(());
    };
    if let Some(top) = overlay_dir(workspace, &note.overlay) {
        Transaction::open_at(workspace.fs, workspace.policy, top)?.finish(workspace, &note)?;
    }
    forget(workspace).map_err(|fault| failed("remove the record of the commit of the overlay", &fault))
}

impl CommitAction {
    fn is_no_file_change(&self) -> bool {
        let is_file_or_new = matches!(
            (self.now, &self.make),
            (None | Some(Kind::File), TargetState::File(_))
                | (Some(Kind::File), TargetState::Nothing)
                | (None, TargetState::Directory)
        );
        !is_file_or_new
    }
}

/// Applies all changes. Entries that must make way for another kind are removed first.
fn make(base: &Workspace<'_>, acts: Vec<CommitAction>) -> Result<Vec<String>> {
    if !acts.iter().any(CommitAction::changes_kind) {
        return batch(base, &acts, |_| true, |_| true);
    }
    let mut notes =
        batch(base, &acts, |act| matches!(act.make, TargetState::Nothing) || act.changes_kind(), |_| false)?;
    notes.extend(batch(base, &acts, |_| false, |act| !matches!(act.make, TargetState::Nothing))?);
    Ok(notes)
}

/// Removes entries at some paths and creates entries at others, with one backup record.
fn batch(
    base: &Workspace<'_>,
    acts: &[CommitAction],
    removes: impl Fn(&CommitAction) -> bool,
    makes: impl Fn(&CommitAction) -> bool,
) -> Result<Vec<String>> {
    let mut changes = Changes::default();
    let (mut links, mut gone) = (Vec::new(), Vec::new());
    for act in acts {
        let is_replaced = matches!((act.now, &act.make), (Some(Kind::File), TargetState::File(_)));
        if removes(act) && act.now.is_some() && !is_replaced {
            let resolved = resolve(base, &act.path)?;
            match act.now {
                Some(Kind::File) => changes.files.push(file(base, act, resolved, None)?),
                _ => gone.push(resolved),
            }
        }
        if makes(act) {
            match &act.make {
                TargetState::Nothing => {}
                TargetState::File(content) => {
                    let resolved = resolve(base, &act.path)?;
                    changes.files.push(file(base, act, resolved, Some(content.clone()))?);
                }
                TargetState::Directory => changes.directories.push(resolve(base, &act.path)?),
                TargetState::Link(target) => links.push((resolve(base, &act.path)?, target.clone())),
            }
        }
    }
    changes.directories.retain(|resolved| resolved.stat.is_none());
    changes.others = others(base, &links, &gone);
    let notes = commit_all(base, OPERATION, changes)?;
    for (resolved, target) in &links {
        links::link(base, OPERATION, &resolve(base, &resolved.requested_path)?, target)?;
    }
    // Inner directories are removed before outer ones.
    for resolved in gone.iter().rev() {
        base.check_change(resolved, OPERATION)?;
        links::remove(base, resolved).map_err(|fault| fault.at(OPERATION, &resolved.requested_path))?;
    }
    Ok(notes)
}

/// Resolves the path and fails if a symbolic link leads elsewhere.
fn resolve(base: &Workspace<'_>, path: &str) -> Result<ResolvedPath> {
    let resolved = base.resolve_with(path, OPERATION, FollowSymlinks::No)?;
    if resolved.path == path.trim_start_matches('/') || resolved.path == path { Ok(resolved) } else { Err(moved(path)) }
}

fn file(
    base: &Workspace<'_>,
    act: &CommitAction,
    resolved: ResolvedPath,
    new: Option<FileContent>,
) -> Result<FileChange> {
    let old = resolved.stat.map(|_| resolved.content(base, OPERATION)).transpose()?;
    // The base must still have the content that was compared or merged.
    if old.as_ref().is_some_and(|old| Some(old.sha256()) != act.sha256.as_deref()) {
        return Err(Error::at(
            Code::ChangedSinceRead,
            OPERATION,
            &resolved.requested_path,
            "it was changed at the same time by someone else",
        )
        .hint("nothing was committed; try again"));
    }
    Ok(FileChange { resolved, old, new, to: None })
}

/// Returns the backup entries of links and removed directories.
fn others(base: &Workspace<'_>, links: &[(ResolvedPath, String)], gone: &[ResolvedPath]) -> Vec<Entry> {
    let linked = links.iter().map(|(resolved, _)| Entry::of(Action::Created, &resolved.path, Kind::Link));
    gone.iter().map(|resolved| links::gone(base, resolved)).chain(linked).collect()
}

/// Undoes the changes made before an error.
fn take_back(base: &Workspace<'_>, error: Error) -> Error {
    if base.changes().is_empty() {
        return error;
    }
    let undone = restore::run(base, &Restore { backup: base.backup(), ..Restore::default() });
    match undone {
        Ok(_) => {
            base.take_changes();
            error
        }
        Err(_) => error
            .and_then("undoing the partial change failed too")
            .hint("a later call makes the rest of it, or `paddock restore` undoes it"),
    }
}

fn note(base: &Workspace<'_>, note: &Note) -> FsResult<()> {
    let dir = base.state.clone().ok_or(Fault::ReadOnly)?;
    let json = serde_json::to_vec(note).map_err(|cause| Fault::Io(cause.to_string()))?;
    if json.len() as u64 > MAX_NOTE {
        return Err(Fault::TooLarge);
    }
    let new = OpenLocation { dir, name: UNFINISHED.to_owned() };
    new.discard(base.fs)?;
    new.publish(base.fs, &json.into(), &new.sibling(NOTE))
}

fn forget(base: &Workspace<'_>) -> FsResult<()> {
    let Some(dir) = base.state.clone() else { return Ok(()) };
    OpenLocation { dir, name: NOTE.to_owned() }.discard(base.fs)
}

/// Reads the note; `None` if it does not exist.
fn read_note(base: &Workspace<'_>) -> FsResult<Option<Note>> {
    let Some(dir) = &base.state else { return Ok(None) };
    let file = match base.fs.open_file(dir, NOTE, Open::Read) {
        Err(Fault::NotFound) => return Ok(None),
        other => other?,
    };
    let json = read_up_to(base.fs, &file, MAX_NOTE)?;
    serde_json::from_slice(&json).map(Some).map_err(|cause| Fault::Io(cause.to_string()))
}

/// Opens the directory of the named overlay; `None` if the name is not plain or does not exist.
fn overlay_dir(base: &Workspace<'_>, name: &str) -> Option<Dir> {
    crate::overlay::check_name(name).ok()?;
    let all = base.fs.open_dir(base.state.as_ref()?, OVERLAYS).ok()?;
    base.fs.open_dir(&all, name).ok()
}
