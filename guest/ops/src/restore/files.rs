//! The files of an undo: the content that each path has after the undo, planned before anything is changed.

use std::collections::BTreeMap;

use paddock_vfs::content::FileContent;
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::resolved_path::ResolvedPath;

/// Planned contents of files.
#[derive(Default)]
pub struct PlannedFiles {
    files: Vec<PlannedFile>,
    /// Indexes into `files` by path.
    known: BTreeMap<String, u32>,
    /// Source and destination of each file that is only moved, or moved and changed.
    moves: Vec<(String, String)>,
}

struct PlannedFile {
    resolved: ResolvedPath,
    /// Content before the undo; `None` if no file exists.
    old: Option<FileContent>,
    /// Content after the undo; `None` if no file remains.
    new: Option<FileContent>,
}

impl PlannedFile {
    fn is_changed(&self) -> bool {
        self.old != self.new
    }
}

impl PlannedFiles {
    /// Returns whether the undo changes the file at `path`.
    pub fn is_changed(&self, path: &str) -> bool {
        self.file(path).is_some_and(PlannedFile::is_changed)
    }

    /// Returns whether the undo changes no file.
    pub fn is_empty(&self) -> bool {
        !self.files.iter().any(PlannedFile::is_changed)
    }

    /// Returns the planned content of the file at `path`; `None` if no change of the path is planned.
    pub fn content(&self, path: &str) -> Option<&Option<FileContent>> {
        self.file(path).map(|file| &file.new)
    }

    fn index(&self, path: &str) -> Option<usize> {
        self.known.get(path).and_then(|index| usize::try_from(*index).ok())
    }

    fn file(&self, path: &str) -> Option<&PlannedFile> {
        self.files.get(self.index(path)?)
    }

    /// Plans the content of a file. `now` is its content before the change: on disk, or planned.
    pub fn set(&mut self, resolved: ResolvedPath, now: Option<FileContent>, new: Option<FileContent>) {
        match self.index(&resolved.path).and_then(|index| self.files.get_mut(index)) {
            Some(file) => file.new = new,
            None => {
                let index = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
                self.known.insert(resolved.path.clone(), index);
                self.files.push(PlannedFile { resolved, old: now, new });
            }
        }
    }

    /// Records that the file at `from` is moved to `to`, so that it keeps its identity.
    pub fn moved(&mut self, from: &str, to: &str) {
        match self.moves.iter_mut().find(|(_, destination)| destination == from) {
            Some((_, destination)) => to.clone_into(destination),
            None => self.moves.push((from.to_owned(), to.to_owned())),
        }
    }

    /// Takes the changes of all files.
    pub fn take(&mut self) -> Vec<FileChange> {
        let planned = std::mem::take(self);
        let mut targets: BTreeMap<String, u32> = BTreeMap::new();
        let mut changes: Vec<Option<FileChange>> = Vec::new();
        let is_moved = |from: &str, to: &str| {
            planned.file(from).is_some_and(|file| file.old.is_some() && file.new.is_none())
                && planned.file(to).is_some_and(|file| file.old.is_none() && file.new.is_some())
        };
        for (from, to) in planned.moves.iter().filter(|(from, to)| is_moved(from, to)) {
            if let Some(target) = planned.known.get(to) {
                targets.insert(from.clone(), *target);
            }
        }
        for file in planned.files {
            let PlannedFile { resolved, old, new } = file;
            changes.push(Some(FileChange { resolved, old, new, to: None }));
        }
        for (from, target) in targets {
            let source = planned.known.get(&from).and_then(|index| usize::try_from(*index).ok());
            let target = usize::try_from(target).ok().and_then(|target| changes.get_mut(target)).and_then(Option::take);
            let source = source.and_then(|source| changes.get_mut(source)).and_then(Option::as_mut);
            if let (Some(source), Some(target)) = (source, target) {
                source.new = target.new;
                source.to = Some(target.resolved);
            }
        }
        changes.into_iter().flatten().filter(|change| change.to.is_some() || change.old != change.new).collect()
    }
}
