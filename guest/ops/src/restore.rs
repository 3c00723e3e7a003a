//! Undoes the changes of one or several calls from their backups: all of them, or those at one path. The undo is a
//! change like any other, with a backup of its own.

use std::collections::{BTreeMap, BTreeSet};

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::{phrase, request, response};
use paddock_vfs::Fault;
use paddock_vfs::content::FileContent;
use paddock_workspace::Workspace;
use paddock_workspace::change::backup::{Action, Entry, Saved};
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;

use chosen::{Chosen, ChosenEntry, choose};
use files::{FileState, PlannedFiles};

mod carry_out;
mod chosen;
mod effects;
mod files;
mod operation;
mod retained;

const OPERATION: &str = "restore";

/// Undoes the changes of calls, or those at one path. The undo of several calls is one change, or none.
pub fn run(workspace: &Workspace<'_>, args: &request::Restore) -> Result<response::Restore> {
    let chosen = choose(workspace, args)?;
    // An error may name any path of the backup, which a rule that is newer than the change may hide.
    undo(workspace, args, &chosen).map_err(|error| chosen.check_visible(workspace).err().unwrap_or(error))
}

fn undo(workspace: &Workspace<'_>, args: &request::Restore, chosen: &Chosen<'_>) -> Result<response::Restore> {
    let entries = chosen.entries();
    if !args.overwrite {
        retained::check(workspace, &entries)?;
    }
    let is_together = chosen.calls.len() > 1;
    let mut undo = Undo { overwrite: args.overwrite, is_together, ..Undo::new(workspace) };
    entries.iter().try_for_each(|chosen| undo.entry(chosen))?;
    undo.carry_out()?;
    let mut result = response::Restore { backup: workspace.backup(), notes: undo.notes, ..Default::default() };
    // Paths whose change remains are not listed, and every other path is listed once.
    for ChosenEntry { entry, .. } in &entries {
        for path in entry.paths() {
            if undo.unrestored.insert(path.clone()) {
                result.restored.push(path.clone());
            }
        }
    }
    for call in &chosen.calls {
        result.operations.push(call.operation.clone());
        if result.undone.is_empty() {
            result.undone.clone_from(&call.id);
        } else {
            result.also_undone.push(call.id.clone());
        }
    }
    Ok(result)
}

/// The steps of an undo, collected before they are executed.
struct Undo<'w> {
    workspace: &'w Workspace<'w>,
    overwrite: bool,
    /// Whether the undo is of several calls, and therefore of one step.
    is_together: bool,
    files: PlannedFiles,
    directories: Vec<ResolvedPath>,
    links: Vec<(ResolvedPath, String)>,
    /// Created directories, links and special files to remove.
    emptied: Vec<ResolvedPath>,
    /// Permission bits of restored directories by path.
    directory_modes: BTreeMap<String, u32>,
    /// Earlier permission bits of directories that exist and remain.
    remaining_modes: Vec<(ResolvedPath, u32)>,
    /// Recorded paths whose change stays, each with a note.
    unrestored: BTreeSet<String>,
    notes: Vec<String>,
}

impl<'w> Undo<'w> {
    fn new(workspace: &'w Workspace<'w>) -> Self {
        Self {
            workspace,
            overwrite: false,
            is_together: false,
            files: PlannedFiles::default(),
            directories: Vec::new(),
            links: Vec::new(),
            emptied: Vec::new(),
            directory_modes: BTreeMap::new(),
            remaining_modes: Vec::new(),
            unrestored: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    fn entry(&mut self, chosen: &ChosenEntry<'_, '_>) -> Result<()> {
        let (saved, entry) = (chosen.saved, chosen.entry);
        let resolved = self.free_location(chosen)?;
        match (entry.action, entry.kind) {
            (Action::Moved, Kind::File) if entry.after.is_some() => self.moved_back(saved, entry, resolved),
            (Action::Moved, _) => {
                // The rename runs at once, after the undo of later changes, so that a file it had overwritten finds its
                // path free.
                self.step(chosen)?;
                let (source, destination) = (entry.to.clone().unwrap_or_default(), entry.path.clone());
                let back = request::Transfer { source, destination, overwrite: false, recursive: true };
                crate::rename::run(self.workspace, &back).map(drop)
            }
            (Action::Created, Kind::Directory) => {
                // The undo of a later change may restore the directory, which is then not needed.
                self.directories.retain(|directory| directory.path != resolved.path);
                self.emptied.extend(Some(resolved).filter(|resolved| resolved.stat.is_some()));
                Ok(())
            }
            (Action::Created, _) => self.taken_away(entry, resolved),
            (Action::Modified, Kind::Directory) => {
                let is_dir = resolved.stat.is_some_and(|stat| stat.kind == Kind::Directory);
                self.remaining_modes.extend(entry.mode.filter(|_| is_dir).map(|mode| (resolved, mode)));
                Ok(())
            }
            (Action::Modified, _) | (Action::Deleted, Kind::File) => self.put_back(saved, entry, resolved),
            (Action::Deleted, Kind::Directory) if self.is_emptied(&resolved) => {
                // A later call had created the directory again.
                self.emptied.retain(|emptied| emptied.path != resolved.path);
                self.remaining_modes.extend(entry.mode.map(|mode| (resolved, mode)));
                Ok(())
            }
            (Action::Deleted, Kind::Directory) => {
                let mode = entry.mode.filter(|_| resolved.stat.is_none());
                self.directory_modes.extend(mode.map(|mode| (resolved.path.clone(), mode)));
                self.directories.extend(Some(resolved).filter(|resolved| resolved.stat.is_none()));
                Ok(())
            }
            (Action::Deleted, Kind::Link) => {
                match &entry.target {
                    Some(target) => {
                        self.links
                            .extend(Some((resolved, target.clone())).filter(|(resolved, _)| resolved.stat.is_none()));
                    }
                    None => {
                        self.leave(&entry.path, "was a symbolic link with an unknown target, and is not restored");
                    }
                }
                Ok(())
            }
            (Action::Deleted, Kind::Other) => {
                self.leave(&entry.path, "was a FIFO, socket or device, and is not restored");
                Ok(())
            }
        }
    }

    /// Resolves the path of an entry. If another kind of entry is at the path or above it, pending steps are executed
    /// first.
    fn free_location(&mut self, chosen: &ChosenEntry<'_, '_>) -> Result<ResolvedPath> {
        let entry = chosen.entry;
        let resolved = self.resolved(entry);
        let is_other = |resolved: &ResolvedPath| resolved.stat.is_some_and(|stat| stat.kind != entry.kind);
        let is_in_the_way = match &resolved {
            // A directory that was created again after its deletion stays.
            Ok(resolved) if self.is_emptied(resolved) => is_other(resolved) || entry.kind != Kind::Directory,
            Ok(resolved) => is_other(resolved) && self.files.is_changed(&resolved.path),
            Err(error) => matches!(error.code, Code::NotADirectory | Code::ChangedSinceRead),
        };
        if !is_in_the_way || (self.files.is_empty() && self.links.is_empty() && self.emptied.is_empty()) {
            return resolved;
        }
        self.step(chosen)?;
        self.resolved(entry)
    }

    fn is_emptied(&self, resolved: &ResolvedPath) -> bool {
        self.emptied.iter().any(|emptied| emptied.path == resolved.path)
    }

    /// Executes the pending steps, before a step that depends on them. The undo of several calls has no such step, since
    /// it could not be taken back if a later one fails.
    fn step(&mut self, chosen: &ChosenEntry<'_, '_>) -> Result<()> {
        if self.is_together {
            return Err(chosen.by_itself());
        }
        self.carry_out()
    }

    /// Resolves the path of an entry. The recorded path contained no symbolic link, so a link on the way is an error.
    fn resolved(&self, entry: &Entry) -> Result<ResolvedPath> {
        let resolved = self.workspace.resolve_with(&entry.path, OPERATION, FollowSymlinks::No)?;
        if resolved.path == entry.path {
            return Ok(resolved);
        }
        let cause = format!("a link leads from there to `{}` now", printable(&resolved.path));
        Err(Error::at(Code::ChangedSinceRead, OPERATION, &entry.path, cause).hint("move the link away, then restore"))
    }

    /// Restores the old content and permission bits unless they are current.
    fn put_back(&mut self, saved: &Saved<'_>, entry: &Entry, resolved: ResolvedPath) -> Result<()> {
        let old = self.current(&resolved)?;
        let content = match (&old, entry.content) {
            // The content stayed, and only the bits may have changed.
            (Some(old), None) if entry.action == Action::Modified => old.content.clone(),
            (None, None) if entry.action == Action::Modified => return Ok(()),
            _ => saved.content(entry)?,
        };
        let new = FileState { content, mode: earlier_mode(entry, old.as_ref()) };
        if let Some(old) = old.as_ref().filter(|old| old.content != new.content) {
            self.check_unchanged(entry, &resolved, &old.content)?;
        }
        self.files.set(resolved, old, Some(new));
        Ok(())
    }

    /// Removes a created entry.
    fn taken_away(&mut self, entry: &Entry, resolved: ResolvedPath) -> Result<()> {
        if self.links.iter().any(|(link, _)| link.path == resolved.path) {
            self.links.retain(|(link, _)| link.path != resolved.path);
            return Ok(());
        }
        match resolved.stat.map(|stat| stat.kind) {
            // A link has no content that could have changed since.
            Some(Kind::Link) => {
                self.emptied.push(resolved);
                return Ok(());
            }
            Some(Kind::Other) if entry.kind == Kind::Other => {
                self.emptied.push(resolved);
                return Ok(());
            }
            Some(_) | None => {}
        }
        let old = self.current(&resolved)?;
        if let Some(old) = &old {
            self.check_unchanged(entry, &resolved, &old.content)?;
        }
        self.files.set(resolved, old, None);
        Ok(())
    }

    fn moved_back(&mut self, saved: &Saved<'_>, entry: &Entry, to: ResolvedPath) -> Result<()> {
        let moved = entry.to.as_deref().unwrap_or_default();
        let resolved = self.workspace.resolve_with(moved, OPERATION, FollowSymlinks::No)?;
        let missing = || Fault::NotFound.at(OPERATION, moved);
        let old = self.current(&resolved)?.ok_or_else(missing)?;
        self.check_unchanged(entry, &resolved, &old.content)?;
        let there = self.current(&to)?;
        if there.is_some() {
            return Err(Fault::Exists.at(OPERATION, &to.requested_path));
        }
        let content = if entry.content.is_some() { saved.content(entry)? } else { old.content.clone() };
        let new = FileState { content, mode: earlier_mode(entry, Some(&old)) };
        self.files.moved(&resolved.path, &to.path);
        self.files.set(resolved, Some(old), None);
        self.files.set(to, there, Some(new));
        Ok(())
    }

    /// Returns the state of a file after the steps that are pending.
    fn current(&self, resolved: &ResolvedPath) -> Result<Option<FileState>> {
        if let Some(planned) = self.files.state(&resolved.path) {
            return Ok(planned.clone());
        }
        let Some(_) = resolved.stat else { return Ok(None) };
        let content = resolved.content(self.workspace, OPERATION)?;
        Ok(Some(FileState { content, mode: resolved.location().mode(self.workspace.fs) }))
    }

    /// Fails if the content was changed since by another party, unless the caller sets `overwrite`.
    fn check_unchanged(&self, entry: &Entry, resolved: &ResolvedPath, now: &FileContent) -> Result<()> {
        let is_as_left = match (&entry.after, entry.action) {
            (Some(after), _) => *after == now.etag(),
            // A file at the path of a deleted one was created by another party.
            (None, Action::Deleted) => false,
            (None, _) => true,
        };
        if is_as_left || self.overwrite {
            return Ok(());
        }
        Err(Error::at(Code::ChangedSinceRead, OPERATION, &resolved.requested_path, "it was changed since")
            .hint(phrase![Term::Overwrite, " restores it anyway; the present content is stored in a backup"]))
    }

    /// Notes that the change of a recorded path stays.
    fn leave(&mut self, path: &str, reason: &str) {
        self.notes.push(format!("`{}` {reason}", printable(path)));
        self.unrestored.insert(path.to_owned());
    }
}

/// Returns the permission bits of a file before the change of `entry`. `now` is its current state.
fn earlier_mode(entry: &Entry, now: Option<&FileState>) -> Option<u32> {
    match now {
        // A host that does not report bits sets none.
        Some(now) => now.mode.map(|mode| entry.mode.unwrap_or(mode)),
        None => entry.mode,
    }
}

#[cfg(test)]
mod tests;
