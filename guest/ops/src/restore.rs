//! Undoes the changes of a call from its backup: all of them, or those at one path. The undo is a change like any
//! other, with a backup of its own.

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
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::change::links;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;

use chosen::choose;

mod chosen;
mod operation;
mod retained;

const OPERATION: &str = "restore";

/// Undoes the changes of a call, or those at one path.
pub fn run(workspace: &Workspace<'_>, args: &request::Restore) -> Result<response::Restore> {
    let chosen = choose(workspace, args)?;
    let entries = chosen.entries();
    if !args.overwrite {
        retained::check(workspace, &entries)?;
    }
    let mut undo = Undo { overwrite: args.overwrite, ..Undo::new(workspace) };
    entries.iter().try_for_each(|(saved, entry)| undo.entry(saved, entry))?;
    undo.carry_out()?;
    let restored = entries.iter().map(|(_, entry)| entry.path.clone());
    let restored = restored.filter(|path| !undo.unrestored.contains(path)).collect();
    Ok(response::Restore { undone: chosen.id, restored, backup: workspace.backup(), notes: undo.notes })
}

/// Returns the backup that a call would undo, and the paths that it would change.
pub fn affected(workspace: &Workspace<'_>, args: &request::Restore) -> Result<(String, Vec<String>)> {
    let chosen = choose(workspace, args)?;
    let paths = chosen.entries().into_iter().flat_map(|(_, entry)| std::iter::once(&entry.path).chain(&entry.to));
    let paths = paths.cloned().collect();
    Ok((chosen.id, paths))
}

/// The steps of an undo, collected before they are executed.
struct Undo<'w> {
    workspace: &'w Workspace<'w>,
    overwrite: bool,
    files: Vec<FileChange>,
    directories: Vec<ResolvedPath>,
    links: Vec<(ResolvedPath, String)>,
    /// Created directories, links and special files to remove.
    emptied: Vec<ResolvedPath>,
    /// Permission bits of restored directories by path.
    directory_modes: BTreeMap<String, u32>,
    /// Files that still exist, with their earlier permission bits.
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
            files: Vec::new(),
            directories: Vec::new(),
            links: Vec::new(),
            emptied: Vec::new(),
            directory_modes: BTreeMap::new(),
            file_modes: Vec::new(),
            unrestored: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    fn entry(&mut self, saved: &Saved<'_>, entry: &Entry) -> Result<()> {
        if entry.action == Action::Moved && self.is_taken(&entry.path) {
            self.carry_out()?;
        }
        let resolved = self.free_place(entry)?;
        match (entry.action, entry.kind) {
            (Action::Moved, Kind::File) if entry.after.is_some() => self.moved_back(saved, entry, resolved),
            (Action::Moved, _) => {
                // The rename runs at once, after the undo of later changes, so that a file it had overwritten finds its
                // path free.
                self.carry_out()?;
                let (source, destination) = (entry.to.clone().unwrap_or_default(), entry.path.clone());
                let back = request::Transfer { source, destination, overwrite: false, recursive: true };
                crate::rename::run(self.workspace, &back).map(drop)
            }
            (Action::Created, Kind::Directory) => {
                self.emptied.extend(Some(resolved).filter(|resolved| resolved.stat.is_some()));
                Ok(())
            }
            (Action::Created, _) => self.taken_away(entry, resolved),
            (Action::Modified, _) | (Action::Deleted, Kind::File) => self.put_back(saved, entry, resolved),
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
    fn free_place(&mut self, entry: &Entry) -> Result<ResolvedPath> {
        let resolved = self.resolved(entry);
        let is_emptied = |resolved: &ResolvedPath| self.emptied.iter().any(|going| going.path == resolved.path);
        let is_other = |resolved: &ResolvedPath| resolved.stat.is_some_and(|stat| stat.kind != entry.kind);
        let is_in_the_way = match &resolved {
            Ok(resolved) => is_emptied(resolved) || (is_other(resolved) && self.is_taken(&resolved.path)),
            Err(error) => matches!(error.code, Code::NotADirectory | Code::ChangedSinceRead),
        };
        let is_waiting = !(self.files.is_empty() && self.links.is_empty() && self.emptied.is_empty());
        if !(is_in_the_way && is_waiting) {
            return resolved;
        }
        self.carry_out()?;
        self.resolved(entry)
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

    /// Returns whether a pending step removes or replaces the file at `path`.
    fn is_taken(&self, path: &str) -> bool {
        self.files.iter().any(|change| change.resolved.path == path)
    }

    /// Restores the old content unless it is current.
    fn put_back(&mut self, saved: &Saved<'_>, entry: &Entry, resolved: ResolvedPath) -> Result<()> {
        let old = self.current(&resolved)?;
        let new = saved.content(entry)?;
        if let Some(mode) = entry.mode.filter(|_| old.is_some()) {
            self.file_modes.push((resolved.clone(), mode));
        }
        match &old {
            Some(old) if *old == new => return Ok(()),
            Some(old) => self.check_unchanged(entry, &resolved, old)?,
            None => {}
        }
        self.files.push(FileChange { resolved, old, new: Some(new), to: None });
        Ok(())
    }

    /// Removes a created entry.
    fn taken_away(&mut self, entry: &Entry, resolved: ResolvedPath) -> Result<()> {
        match resolved.stat.map(|stat| stat.kind) {
            None => return Ok(()),
            // A link has no content that could have changed since.
            Some(Kind::Link) => {
                self.emptied.push(resolved);
                return Ok(());
            }
            Some(Kind::Other) if entry.kind == Kind::Other => {
                self.emptied.push(resolved);
                return Ok(());
            }
            Some(_) => {}
        }
        let old = self.current(&resolved)?;
        if let Some(old) = &old {
            self.check_unchanged(entry, &resolved, old)?;
        }
        self.files.push(FileChange { resolved, old, new: None, to: None });
        Ok(())
    }

    fn moved_back(&mut self, saved: &Saved<'_>, entry: &Entry, to: ResolvedPath) -> Result<()> {
        let moved = entry.to.as_deref().unwrap_or_default();
        let resolved = self.workspace.resolve_with(moved, OPERATION, FollowSymlinks::No)?;
        resolved.existing(self.workspace, OPERATION)?;
        let old = self.current(&resolved)?;
        if let Some(old) = &old {
            self.check_unchanged(entry, &resolved, old)?;
        }
        let new = if entry.content.is_some() { Some(saved.content(entry)?) } else { old.clone() };
        self.files.push(FileChange { resolved, old, new, to: Some(to) });
        Ok(())
    }

    fn current(&self, resolved: &ResolvedPath) -> Result<Option<FileContent>> {
        resolved.stat.map(|_| resolved.content(self.workspace, OPERATION)).transpose()
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
        let files = std::mem::take(&mut self.files);
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
