//! Execution of the planned steps of an undo.

use paddock_types::entry::Kind;
use paddock_types::error::Result;
use paddock_types::path::below;
use paddock_types::response::{Change, ChangeKind};
use paddock_vfs::Fault;
use paddock_workspace::change::backup::{Action, Entry};
use paddock_workspace::change::commit::{Changes, commit_all};
use paddock_workspace::change::directories::make_missing;
use paddock_workspace::change::links;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;

use super::{OPERATION, Undo};

impl Undo<'_> {
    pub(super) fn carry_out(&mut self) -> Result<()> {
        let (files, mut modes) = self.files.take();
        // A directory that contains restored files is created in the same change; the others are created afterwards.
        let holds_a_file = |directory: &ResolvedPath| {
            let is_in =
                |resolved: &ResolvedPath| below(&resolved.path, &directory.path).is_some_and(|rest| !rest.is_empty());
            files.iter().any(|change| change.new.is_some() && is_in(change.to.as_ref().unwrap_or(&change.resolved)))
        };
        self.directories.retain(|directory| !holds_a_file(directory));
        modes.extend(self.directory_modes.clone());
        let changes = Changes { files, others: self.others(), modes, ..Changes::default() };
        self.notes.extend(commit_all(self.workspace, OPERATION, changes)?);
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
        // A path has its directory open until it is dropped, and Windows removes no directory that is open.
        while let Some(resolved) = emptied.pop() {
            self.workspace.check_change(&resolved, OPERATION)?;
            self.workspace.check_movable(&resolved, OPERATION)?;
            match links::remove(self.workspace, &resolved) {
                Ok(()) | Err(Fault::NotFound) => {}
                Err(Fault::NotEmpty) => self.leave(&resolved.path, "holds other entries now, and is not removed"),
                Err(fault) => return Err(fault.at(OPERATION, &resolved.requested_path)),
            }
        }
        // The new bits of a directory can make its entries inaccessible.
        let mut remaining = std::mem::take(&mut self.remaining_modes);
        remaining.sort_unstable_by_key(|(resolved, _)| std::cmp::Reverse(resolved.path.len()));
        remaining.iter().try_for_each(|(resolved, mode)| self.give_mode(resolved, *mode))
    }

    /// Returns the backup entries of directories and links.
    fn others(&self) -> Vec<Entry> {
        let created =
            self.directories.iter().map(|resolved| Entry::of(Action::Created, &resolved.path, Kind::Directory));
        let linked = self.links.iter().map(|(resolved, _)| Entry::of(Action::Created, &resolved.path, Kind::Link));
        let gone = self.emptied.iter().map(|resolved| links::gone(self.workspace, resolved));
        let remaining = self.remaining_modes.iter().map(|(resolved, _)| Entry {
            mode: resolved.location().mode(self.workspace.fs),
            ..Entry::of(Action::Modified, &resolved.path, Kind::Directory)
        });
        created.chain(linked).chain(gone).chain(remaining).collect()
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

    /// Restores the permission bits of a directory that still exists.
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
