//! One step of a change: how it is applied and undone, and how its progress before a crash is determined.

use paddock_types::error::{Code, Error, Result};
use paddock_vfs::content::FileContent;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::{Dir, Fault, Filesystem, FsResult};
use serde::{Deserialize, Serialize};

use crate::Workspace;
use crate::change::file_change::FileChange;
use crate::change::stored_location::StoredLocation;

/// A file's change as stored in the journal: names and digests, no content.
#[derive(Debug, Serialize, Deserialize)]
pub struct Step {
    /// Location of the file.
    pub target: StoredLocation,
    /// Destination of a move.
    pub to: Option<StoredLocation>,
    /// Name of the temporary sibling with the new content; `None` if the content does not change.
    pub temporary: Option<String>,
    /// Name of the sibling that holds the old file until the change is complete.
    pub backup: String,
    /// SHA-256 of the old content; `None` if the file did not exist.
    pub old: Option<String>,
    /// SHA-256 of the new content; `None` if the step removes the file.
    pub new: Option<String>,
    /// Whether the file is rewritten in place instead of replaced by a rename.
    pub in_place: bool,
}

impl Step {
    /// Returns the target and the destination of a move, if any.
    pub fn stored_locations(&self) -> impl Iterator<Item = &StoredLocation> {
        std::iter::once(&self.target).chain(&self.to)
    }

    /// Returns the names of the temporary file and of the backup, both siblings of the target.
    pub fn own_names(&self) -> impl Iterator<Item = &str> {
        self.temporary.as_deref().into_iter().chain([self.backup.as_str()])
    }

    /// Opens the directories of the step.
    pub fn open(&self, workspace: &Workspace<'_>) -> FsResult<Work<'_>> {
        let dir = self.target.open(workspace)?.dir;
        let to = self.to.as_ref().map(|to| to.open(workspace)).transpose()?;
        Ok(self.at(dir, to.map(|location| location.dir)))
    }

    /// Returns the step with directories that are already open.
    pub fn at(&self, dir: Dir, to_dir: Option<Dir>) -> Work<'_> {
        let target = OpenLocation { dir, name: self.target.name.clone() };
        let to = to_dir.zip(self.to.as_ref()).map(|(dir, to)| OpenLocation { dir, name: to.name.clone() });
        let temporary = self.temporary.as_ref().map(|name| target.sibling(name));
        Work { step: self, backup: target.sibling(&self.backup), temporary, to, target }
    }
}

/// A step with its directories open.
pub struct Work<'s> {
    step: &'s Step,
    target: OpenLocation,
    to: Option<OpenLocation>,
    /// The temporary file.
    pub temporary: Option<OpenLocation>,
    backup: OpenLocation,
}

/// Progress of a step before a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The step can be applied, from the start or from the point of interruption.
    Ready,
    /// The step is complete.
    Applied,
    /// The preparation is incomplete, or another process changed the file since.
    Lost,
}

impl Work<'_> {
    /// Applies the step, or continues it after an interruption.
    pub fn apply(&self, fs: &dyn Filesystem) -> FsResult<()> {
        match (&self.temporary, &self.step.old, &self.step.new) {
            // The temporary name is removed later, when the new name is durable.
            (Some(temporary), None, _) => return temporary.link_to_free(fs, &self.target),
            (Some(temporary), Some(_), _) if self.step.in_place => self.target.overwrite(fs, temporary)?,
            (Some(temporary), Some(_), _) => self.replace(fs, temporary)?,
            (None, _, None) => return self.target.rename(fs, &self.backup),
            (None, _, Some(_)) => {}
        }
        match &self.to {
            None => Ok(()),
            Some(to) => self.move_to(fs, to),
        }
    }

    /// Returns the location of the file after the step.
    pub fn result(&self) -> &OpenLocation {
        self.to.as_ref().unwrap_or(&self.target)
    }

    fn move_to(&self, fs: &dyn Filesystem, to: &OpenLocation) -> FsResult<()> {
        match self.target.move_to_free(fs, to) {
            // A crash came after the link and before the removal of the old name.
            Err(Fault::Exists) if to.digest(fs)? == self.step.new => self.target.discard(fs),
            other => other,
        }
    }

    /// Replaces the target by the temporary file, and keeps the old file as the backup.
    fn replace(&self, fs: &dyn Filesystem, temporary: &OpenLocation) -> FsResult<()> {
        match self.target.link(fs, &self.backup) {
            Ok(()) | Err(Fault::Exists) => {}
            // Without hard links the backup is a copy: if a later step fails, undoing this step needs the old content.
            Err(Fault::Unsupported | Fault::Access) => self.target.copy(fs, &self.backup)?,
            Err(fault) => return Err(fault),
        }
        match temporary.rename(fs, &self.target) {
            // A crash came after the replacement and before the move.
            Err(Fault::NotFound) if self.to.is_some() => Ok(()),
            other => other,
        }
    }

    /// Undoes the step, complete or not; `old` is the old content of the file.
    pub fn undo(&self, fs: &dyn Filesystem, old: Option<&FileContent>) -> FsResult<()> {
        if let Some(to) = &self.to {
            self.undo_move(fs, to)?;
        }
        match old {
            None if self.is_linked(fs)? => self.target.discard(fs),
            None => Ok(()),
            Some(old) if self.step.in_place => self.target.restore(fs, old),
            // The file is not replaced yet, and the backup may be an incomplete copy.
            Some(_) if self.target.digest(fs)? == self.step.old => Ok(()),
            Some(_) => match self.backup.rename(fs, &self.target) {
                Err(Fault::NotFound) => Ok(()),
                other => other,
            },
        }
    }

    fn undo_move(&self, fs: &dyn Filesystem, to: &OpenLocation) -> FsResult<()> {
        if to.digest(fs)? != self.step.new {
            return Ok(());
        }
        match self.target.digest(fs)? {
            None => to.move_to_free(fs, &self.target),
            Some(_) => to.discard(fs),
        }
    }

    /// Returns whether the file at the target is the prepared one, not one that another process created.
    fn is_linked(&self, fs: &dyn Filesystem) -> FsResult<bool> {
        let Some(temporary) = &self.temporary else { return Ok(false) };
        match fs.stat(&temporary.dir, &temporary.name) {
            Ok(stat) => Ok(stat.links > 1),
            Err(Fault::NotFound) => Ok(self.target.digest(fs)? == self.step.new),
            Err(fault) => Err(fault),
        }
    }

    /// Fails if the file changed since the change was planned.
    pub fn check_fresh(&self, fs: &dyn Filesystem, operation: &str, change: &FileChange) -> Result<()> {
        let path = &change.resolved.requested_path;
        // Otherwise a file could change below an overlay after this check, and the overlay would not notice.
        fs.pin(&self.target.dir, &self.target.name).map_err(|fault| fault.at(operation, path))?;
        let there = self.target.digest(fs).map_err(|fault| fault.at(operation, path))?;
        match (&there, &self.step.old) {
            (there, old) if there == old => Ok(()),
            (Some(_), None) => Err(Fault::Exists.at(operation, path)),
            _ => Err(Error::at(
                Code::ChangedSinceRead,
                operation,
                path,
                "it was changed at the same time by someone else",
            )
            .hint("read it again, then repeat the change on the present content")),
        }
    }

    /// Returns the progress of the step, judged by content.
    pub fn progress(&self, fs: &dyn Filesystem) -> FsResult<Progress> {
        let step = self.step;
        let target = self.target.digest(fs)?;
        let prepared = match &self.temporary {
            Some(temporary) => temporary.digest(fs)? == step.new,
            None => true,
        };
        // An interrupted rewrite in place starts again from the temporary file.
        let ready = prepared && (target == step.old || (step.in_place && target.is_some()));
        if let Some(to) = &self.to {
            let moved = to.digest(fs)? == step.new;
            return Ok(match (moved, &target) {
                (true, None) => Progress::Applied,
                // This includes a move that created the new name and did not yet remove the old one.
                (_, target) if *target == step.new || ready => Progress::Ready,
                _ => Progress::Lost,
            });
        }
        Ok(match () {
            () if target == step.new => Progress::Applied,
            () if ready => Progress::Ready,
            () => Progress::Lost,
        })
    }

    /// Makes the directory entries that the step changed durable.
    pub fn sync(&self, fs: &dyn Filesystem) -> FsResult<()> {
        self.directories().try_for_each(|(_, location)| fs.sync_dir(&location.dir))
    }

    /// Returns the locations whose directories the step changes.
    pub fn directories(&self) -> impl Iterator<Item = (&StoredLocation, &OpenLocation)> {
        let to = self.step.to.as_ref().zip(self.to.as_ref());
        std::iter::once((&self.step.target, &self.target)).chain(to)
    }

    /// Removes the temporary file and the backup, durably.
    pub fn tidy(&self, fs: &dyn Filesystem) -> FsResult<()> {
        self.clean(fs)?;
        self.sync(fs)
    }

    /// Removes the temporary file and the backup.
    fn clean(&self, fs: &dyn Filesystem) -> FsResult<()> {
        self.temporary.as_ref().map_or(Ok(()), |temporary| temporary.discard(fs))?;
        self.backup.discard(fs)
    }

    /// Removes what remains of the temporary file and the backup after the step was applied.
    pub fn clean_applied(&self, fs: &dyn Filesystem) -> FsResult<()> {
        let is_replaced = self.step.old.is_some() && !self.step.in_place;
        match &self.temporary {
            // It was renamed to the target.
            Some(_) if is_replaced => {}
            Some(temporary) => return temporary.discard(fs),
            None if self.step.new.is_some() => return Ok(()),
            None => {}
        }
        self.backup.discard(fs)
    }
}

#[cfg(test)]
mod tests;
