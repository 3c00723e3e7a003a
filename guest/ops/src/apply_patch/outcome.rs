//! The results and the changes of a planned patch.

use paddock_types::digest::etag;
use paddock_types::response::{PatchAction, PatchedFile};
use paddock_vfs::content::FileContent;
use paddock_workspace::change::file_change::FileChange;

use crate::apply_patch::{Plan, Planned, counts};

impl Plan<'_> {
    /// Returns an entry for each file that differs, in the order of the patch.
    pub(super) fn results(&self) -> Vec<PatchedFile> {
        let entry = |(index, file): (usize, &Planned)| {
            let moved_from = self.origin(file).map(|origin| origin.resolved.path.clone());
            let action = match (&file.old, &file.new) {
                _ if moved_from.is_some() => PatchAction::Move,
                (None, Some(_)) => PatchAction::Add,
                (Some(_), Some(_)) => PatchAction::Update,
                (Some(_), None) if !self.is_origin(index) => PatchAction::Delete,
                (_, None) => return None,
            };
            let (lines_added, lines_removed) = counts::of(file, action);
            Some(PatchedFile {
                path: file.resolved.path.clone(),
                action,
                moved_from,
                lines_added,
                lines_removed,
                etag: file.new.as_deref().map(etag),
                pass: file.pass,
                size: file.new.as_ref().map_or(0, |new| new.len() as u64),
            })
        };
        self.files.iter().enumerate().filter_map(entry).collect()
    }

    /// Returns the path of each file that differs and remains, its content before, and after. A moved file has the
    /// content of its origin before.
    pub(super) fn contents(&self) -> impl Iterator<Item = (&str, Option<FileContent>, FileContent)> {
        self.files.iter().filter_map(|file| {
            let origin = self.origin(file);
            let (old, new) = (origin.map_or(&file.old, |origin| &origin.old), file.new.clone()?);
            (origin.is_none() || old.as_ref() != Some(&new))
                .then(|| (file.resolved.path.as_str(), old.clone().map(Into::into), new.into()))
        })
    }

    /// Converts the plan into the changes to commit.
    pub(super) fn changes(mut self) -> Vec<FileChange> {
        let moved = self.files.iter().enumerate().filter(|(_, file)| self.origin(file).is_some());
        let moves: Vec<(usize, usize)> = moved.filter_map(|(to, file)| Some((file.from?, to))).collect();
        let mut changes = Vec::new();
        for index in 0..self.files.len() {
            if moves.iter().any(|(_, to)| *to == index) {
                continue;
            }
            let target = moves.iter().find(|(from, _)| *from == index).and_then(|(_, to)| self.files.get_mut(*to));
            let target = target.map(|file| (file.resolved.clone(), file.new.take()));
            let Some(file) = self.files.get_mut(index) else { continue };
            let (old, mut new, mut to) = (file.old.take(), file.new.take(), None);
            if let Some((resolved, moved)) = target {
                (to, new) = (Some(resolved), moved);
            }
            if to.is_some() || old != new {
                let resolved = file.resolved.clone();
                changes.push(FileChange { resolved, old: old.map(Into::into), new: new.map(Into::into), to });
            }
        }
        changes
    }

    /// Returns the file that moved to this path as a whole: nothing existed here before, and the source no longer
    /// exists.
    fn origin(&self, file: &Planned) -> Option<&Planned> {
        let origin = self.files.get(file.from?)?;
        (file.old.is_none() && file.new.is_some() && origin.new.is_none()).then_some(origin)
    }

    fn is_origin(&self, index: usize) -> bool {
        self.files.iter().any(|file| file.from == Some(index) && self.origin(file).is_some())
    }
}
