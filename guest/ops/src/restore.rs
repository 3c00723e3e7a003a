//! Undoes the changes of one or several calls from their backups: all of them, or those at one path. The undo is a
//! change like any other, with a backup of its own.

use std::collections::{BTreeMap, BTreeSet};

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::path::below;
use paddock_types::response::{Change, ChangeKind};
use paddock_types::{phrase, request, response};
use paddock_vfs::Fault;
use paddock_vfs::content::FileContent;
use paddock_workspace::Workspace;
use paddock_workspace::change::backup::{Action, Entry, Saved};
use paddock_workspace::change::commit::{Changes, commit_all};
use paddock_workspace::change::directories::make_missing;
use paddock_workspace::change::links;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;

use chosen::{Chosen, ChosenEntry, choose};
use files::PlannedFiles;

mod chosen;
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

/// Returns the backups that a call would undo, and the paths that it would change.
pub fn affected(workspace: &Workspace<'_>, args: &request::Restore) -> Result<(Vec<String>, Vec<String>)> {
    let chosen = choose(workspace, args)?;
    chosen.check_visible(workspace)?;
    let (mut backups, mut paths, mut listed) = (Vec::new(), Vec::new(), BTreeSet::new());
    for ChosenEntry { entry, .. } in chosen.entries() {
        for path in entry.paths() {
            if listed.insert(path.clone()) {
                paths.push(path.clone());
            }
        }
    }
    for call in &chosen.calls {
        backups.push(call.id.clone());
    }
    Ok((backups, paths))
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
    /// Files and directories that still exist, with their earlier permission bits.
    file_modes: Vec<(ResolvedPath, u32)>,
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
            file_modes: Vec::new(),
            unrestored: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    fn entry(&mut self, chosen: &ChosenEntry<'_, '_>) -> Result<()> {
        let (saved, entry) = (chosen.saved, chosen.entry);
        let resolved = self.free_place(chosen)?;
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
            (Action::Modified, _) | (Action::Deleted, Kind::File) => self.put_back(saved, entry, resolved),
            (Action::Deleted, Kind::Directory) if self.is_emptied(&resolved) => {
                // A later call had created the directory again.
                self.emptied.retain(|emptied| emptied.path != resolved.path);
                self.file_modes.extend(entry.mode.map(|mode| (resolved, mode)));
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
    fn free_place(&mut self, chosen: &ChosenEntry<'_, '_>) -> Result<ResolvedPath> {
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

    /// Restores the old content unless it is current.
    fn put_back(&mut self, saved: &Saved<'_>, entry: &Entry, resolved: ResolvedPath) -> Result<()> {
        if entry.action == Action::Modified && entry.content.is_none() {
            // The call wrote the content that was there, so none is stored.
            return Ok(());
        }
        let old = self.current(&resolved)?;
        let new = saved.content(entry)?;
        if let Some(mode) = entry.mode.filter(|_| resolved.stat.is_some()) {
            self.file_modes.push((resolved.clone(), mode));
        }
        match &old {
            Some(old) if *old == new => return Ok(()),
            Some(old) => self.check_unchanged(entry, &resolved, old)?,
            None => {}
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
            self.check_unchanged(entry, &resolved, old)?;
        }
        self.files.set(resolved, old, None);
        Ok(())
    }

    fn moved_back(&mut self, saved: &Saved<'_>, entry: &Entry, to: ResolvedPath) -> Result<()> {
        let moved = entry.to.as_deref().unwrap_or_default();
        let resolved = self.workspace.resolve_with(moved, OPERATION, FollowSymlinks::No)?;
        let missing = || Fault::NotFound.at(OPERATION, moved);
        let old = self.current(&resolved)?.ok_or_else(missing)?;
        self.check_unchanged(entry, &resolved, &old)?;
        let there = self.current(&to)?;
        if there.is_some() {
            return Err(Fault::Exists.at(OPERATION, &to.requested_path));
        }
        let new = if entry.content.is_some() { saved.content(entry)? } else { old.clone() };
        self.files.moved(&resolved.path, &to.path);
        self.files.set(resolved, Some(old), None);
        self.files.set(to, there, Some(new));
        Ok(())
    }

    /// Returns the content of a file after the steps that are pending.
    fn current(&self, resolved: &ResolvedPath) -> Result<Option<FileContent>> {
        match self.files.content(&resolved.path) {
            Some(planned) => Ok(planned.clone()),
            None => resolved.stat.map(|_| resolved.content(self.workspace, OPERATION)).transpose(),
        }
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

    fn carry_out(&mut self) -> Result<()> {
        let files = self.files.take();
        // A directory that contains restored files is created in the same change; the others are created afterwards.
        let holds_a_file = |directory: &ResolvedPath| {
            let is_in =
                |resolved: &ResolvedPath| below(&resolved.path, &directory.path).is_some_and(|rest| !rest.is_empty());
            files.iter().any(|change| change.new.is_some() && is_in(change.to.as_ref().unwrap_or(&change.resolved)))
        };
        self.directories.retain(|directory| !holds_a_file(directory));
        let modes = self.directory_modes.clone();
        let changes = Changes { files, others: self.others(), modes, ..Changes::default() };
        self.notes.extend(commit_all(self.workspace, OPERATION, changes)?);
        for (resolved, mode) in std::mem::take(&mut self.file_modes) {
            self.give_mode(&resolved, mode)?;
        }
        // Outer directories are created before inner ones.
        let mut directories = std::mem::take(&mut self.directories);
        outer_first(&mut directories);
        for resolved in &directories {
            self.make(resolved)?;
        }
        for (resolved, target) in std::mem::take(&mut self.links) {
            links::link(self.workspace, OPERATION, &self.again(&resolved)?, &target)?;
        }
        let mut emptied = std::mem::take(&mut self.emptied);
        outer_first(&mut emptied);
        for resolved in emptied.iter().rev() {
            self.workspace.check_change(resolved, OPERATION)?;
            self.workspace.check_movable(resolved, OPERATION)?;
            match links::remove(self.workspace, resolved) {
                Ok(()) | Err(Fault::NotFound) => {}
                Err(Fault::NotEmpty) => self.leave(&resolved.path, "holds other entries now, and is not removed"),
                Err(fault) => return Err(fault.at(OPERATION, &resolved.requested_path)),
            }
        }
        Ok(())
    }

    /// Notes that the change of a recorded path stays.
    fn leave(&mut self, path: &str, reason: &str) {
        self.notes.push(format!("`{}` {reason}", printable(path)));
        self.unrestored.insert(path.to_owned());
    }

    /// Returns the backup entries of directories and links.
    fn others(&self) -> Vec<Entry> {
        let made = self.directories.iter().map(|resolved| Entry::of(Action::Created, &resolved.path, Kind::Directory));
        let linked = self.links.iter().map(|(resolved, _)| Entry::of(Action::Created, &resolved.path, Kind::Link));
        let gone = self.emptied.iter().map(|resolved| links::gone(self.workspace, resolved));
        made.chain(linked).chain(gone).collect()
    }

    fn make(&self, resolved: &ResolvedPath) -> Result<()> {
        let resolved = self.again(resolved)?;
        if resolved.stat.is_some() {
            return Ok(());
        }
        self.workspace.check_change(&resolved, OPERATION)?;
        let to_error = |fault: Fault| fault.at(OPERATION, &resolved.requested_path);
        let dir = make_missing(self.workspace.fs, &resolved, &mut Vec::new()).map_err(to_error)?;
        self.workspace.fs.make_dir(&dir, &resolved.name).map_err(to_error)?;
        if let Some(mode) = self.directory_modes.get(&resolved.path) {
            self.workspace.fs.set_mode(&dir, &resolved.name, *mode).map_err(to_error)?;
        }
        self.changed(ChangeKind::Created, &resolved);
        Ok(())
    }

    /// Restores the permission bits of a file that still exists.
    fn give_mode(&self, resolved: &ResolvedPath, mode: u32) -> Result<()> {
        let fs = self.workspace.fs;
        if fs.mode(&resolved.dir, &resolved.name).is_none_or(|now| now == mode) {
            return Ok(());
        }
        self.workspace.check_change(resolved, OPERATION)?;
        match fs.set_mode(&resolved.dir, &resolved.name, mode) {
            // The mode of a file with further hard links must not be changed.
            Err(Fault::Access) => Ok(()),
            other => other.map_err(|fault| fault.at(OPERATION, &resolved.requested_path)),
        }
    }

    /// Resolves the path again after the files were restored.
    fn again(&self, resolved: &ResolvedPath) -> Result<ResolvedPath> {
        self.workspace.resolve_with(&resolved.requested_path, OPERATION, FollowSymlinks::No)
    }

    fn changed(&self, kind: ChangeKind, resolved: &ResolvedPath) {
        self.workspace.changed(Change { kind, path: resolved.path.clone(), to: None, size: None });
    }
}

/// Sorts directories so that outer ones come before inner ones.
fn outer_first(directories: &mut [ResolvedPath]) {
    directories.sort_unstable_by(|a, b| a.path.len().cmp(&b.path.len()).then_with(|| a.path.cmp(&b.path)));
}
