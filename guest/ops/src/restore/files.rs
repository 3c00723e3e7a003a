//! The files of an undo: the content and permission bits that each path has after the undo, planned before anything is
//! changed.

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

/// State of a file.
#[derive(Clone, PartialEq)]
pub struct FileState {
    /// Content.
    pub content: FileContent,
    /// Permission bits, if the host reports them.
    pub mode: Option<u32>,
}

struct PlannedFile {
    resolved: ResolvedPath,
    /// State before the undo; `None` if no file exists.
    old: Option<FileState>,
    /// State after the undo; `None` if no file remains.
    new: Option<FileState>,
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

    /// Returns the planned state of the file at `path`; `None` if no change of the path is planned.
    pub fn state(&self, path: &str) -> Option<&Option<FileState>> {
        self.file(path).map(|file| &file.new)
    }

    fn index(&self, path: &str) -> Option<usize> {
        self.known.get(path).and_then(|index| usize::try_from(*index).ok())
    }

    fn file(&self, path: &str) -> Option<&PlannedFile> {
        self.files.get(self.index(path)?)
    }

    /// Plans the state of a file. `now` is its state before the change: on disk, or planned.
    pub fn set(&mut self, resolved: ResolvedPath, now: Option<FileState>, new: Option<FileState>) {
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

    /// Takes the changes of all files, and the permission bits that they set, by path.
    pub fn take(&mut self) -> (Vec<FileChange>, BTreeMap<String, u32>) {
        let mut planned = std::mem::take(self);
        let is_moved = |from: &PlannedFile, to: &PlannedFile| {
            from.old.is_some() && from.new.is_none() && to.old.is_none() && to.new.is_some()
        };
        let mut moved = BTreeMap::new();
        for (from, to) in &planned.moves {
            if let (Some(source), Some(target)) = (planned.file(from), planned.file(to))
                && is_moved(source, target)
            {
                moved.insert(from.clone(), to.clone());
            }
        }
        let mut targets = BTreeMap::new();
        for (from, to) in moved {
            if let Some(target) = planned.index(&to).and_then(|index| planned.files.get_mut(index)) {
                targets.insert(from, (target.resolved.clone(), target.new.take()));
            }
        }
        let (mut changes, mut modes) = (Vec::new(), BTreeMap::new());
        for PlannedFile { resolved, old, new } in planned.files {
            let (to, new) = targets.remove(&resolved.path).map_or((None, new), |(to, new)| (Some(to), new));
            if to.is_none() && old == new {
                continue;
            }
            let mode = new.as_ref().and_then(|new| new.mode);
            let is_same = old.as_ref().is_some_and(|old| old.mode == mode);
            let content = |state: FileState| state.content;
            let change = FileChange { resolved, old: old.map(content), new: new.map(content), to };
            modes.extend(mode.filter(|_| !is_same).map(|mode| (change.path().to_owned(), mode)));
            changes.push(change);
        }
        (changes, modes)
    }
}
