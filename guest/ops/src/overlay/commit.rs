//! Commits changes of an overlay to its base, all of the chosen ones or none.
//!
//! Files and new directories form one journaled change. Symbolic links, removed directories and entries that change
//! their kind need several changes. In that case a note in the state directory marks the commit as unfinished, and the
//! next call that finds the note completes it.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result};
use paddock_types::path::is_at_or_below;
use paddock_types::request::Restore;
use paddock_types::response::Change;
use paddock_vfs::content::FileContent;
use paddock_workspace::Workspace;
use paddock_workspace::change::backup::{Action, Entry};
use paddock_workspace::change::commit::{Changes, commit_all};
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::change::links;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;

use crate::overlay::Transaction;
use crate::overlay::note::{Note, forget};
use crate::overlay::plan::{CommitAction, Conflict, Plan, TargetState, moved};
use crate::restore;

pub(super) const OPERATION: &str = "commit";

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
            Note::of(self, &args.overlay, args.merge, &chosen).write(base)?;
        }
        let notes = make(base, acts).map_err(|error| take_back(base, error));
        if takes_several && (notes.is_ok() || base.changes().is_empty()) {
            forget(base)?;
        }
        Ok(Commit { changes: base.take_changes(), merged, conflicts, backup: base.backup(), notes: notes? })
    }
}

impl CommitAction {
    fn is_no_file_change(&self) -> bool {
        let is_file_or_new = matches!(
            (self.now, &self.make),
            (None | Some(Kind::File), TargetState::File(_))
                | (Some(Kind::File), TargetState::Nothing)
                | (None | Some(Kind::Directory), TargetState::Directory)
        );
        !is_file_or_new
    }
}

/// Applies all changes. Entries that must make way for another kind are removed first.
pub(super) fn make(base: &Workspace<'_>, acts: Vec<CommitAction>) -> Result<Vec<String>> {
    if !acts.iter().any(CommitAction::changes_kind) {
        return batch(base, &acts, |_| true, |_| true);
    }
    check(base, &acts)?;
    let mut notes =
        batch(base, &acts, |act| matches!(act.make, TargetState::Nothing) || act.changes_kind(), |_| false)?;
    notes.extend(batch(base, &acts, |_| false, |act| !matches!(act.make, TargetState::Nothing))?);
    Ok(notes)
}

/// Fails if a rule forbids a part of the second step, before the first one removes anything. Paths below an entry that makes
/// way cannot be resolved yet.
fn check(base: &Workspace<'_>, acts: &[CommitAction]) -> Result<()> {
    let making_way: Vec<_> = acts.iter().filter(|act| act.changes_kind()).map(|act| act.path.as_str()).collect();
    let is_below = |path: &str| making_way.iter().any(|above| path != *above && is_at_or_below(path, above));
    let mut checked = acts.iter().filter(|act| !is_below(&act.path));
    checked.try_for_each(|act| base.check_change(&resolve(base, &act.path)?, OPERATION))
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
        let is_kept = matches!(
            (act.now, &act.make),
            (Some(Kind::File), TargetState::File(_)) | (Some(Kind::Directory), TargetState::Directory)
        );
        if removes(act) && act.now.is_some() && !is_kept {
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
pub(super) fn resolve(base: &Workspace<'_>, path: &str) -> Result<ResolvedPath> {
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
    let changed: Vec<String> = base.changes().iter().map(|change| change.path.clone()).collect();
    // Without a backup of this commit, the last change before it would be undone.
    let undone = base.backup().map(|backup| {
        let args = Restore { backup: Some(backup), ..Restore::default() };
        restore::run(base, &args).is_ok_and(|undone| changed.iter().all(|path| undone.restored.contains(path)))
    });
    if undone == Some(true) {
        base.take_changes();
        return error;
    }
    error
        .and_then("a part of the commit is made, and cannot be undone as a whole")
        .hint("no change is made in the workspace before the commit is complete: remove the cause, and call again")
}
