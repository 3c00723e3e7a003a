//! Plans the commit of each path, and detects conflicts.

use paddock_text::diff;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result};
use paddock_vfs::content::{FileContent, Mode};
use paddock_vfs::overlay::whiteouts::BaseEntry;
use paddock_vfs::overlay::{Difference, Is};
use paddock_vfs::{Fault, FsResult};

use crate::overlay::merge::merge;
use crate::overlay::{Transaction, failed, git};

/// Maximum size in bytes of each diff of a conflict.
const MAX_DIFF: usize = 16 * 1024;

/// A path that was changed in the base as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Rendered path.
    pub path: String,
    /// Description of the change in the base.
    pub cause: String,
    /// Change in the base since the overlay first changed the path, as a unified diff if both versions are text.
    pub theirs: String,
    /// Change in the overlay, as a unified diff if both versions are text.
    pub ours: String,
}

/// The change to make at one path of the base.
pub struct CommitAction {
    /// Rendered path.
    pub path: String,
    /// Current kind of the entry in the base.
    pub now: Option<Kind>,
    /// SHA-256 of the current file in the base.
    pub sha256: Option<String>,
    pub make: TargetState,
    /// Whether the new content is a merge of the changes in base and overlay.
    pub is_merged: bool,
}

/// State of a path after the commit.
pub enum TargetState {
    Nothing,
    File(FileContent),
    Directory,
    Link(String),
}

impl CommitAction {
    /// Returns whether the current entry must be removed first.
    pub fn changes_kind(&self) -> bool {
        match (self.now, &self.make) {
            (None, _)
            | (_, TargetState::Nothing)
            | (Some(Kind::File), TargetState::File(_))
            | (Some(Kind::Directory), TargetState::Directory) => false,
            (Some(_), TargetState::File(_) | TargetState::Directory | TargetState::Link(_)) => true,
        }
    }
}

/// Changes to make, and conflicts.
#[derive(Default)]
pub struct Plan {
    pub acts: Vec<CommitAction>,
    pub conflicts: Vec<Conflict>,
}

impl Transaction<'_> {
    /// Plans the changes that bring the chosen differences into the base. With `merge`, texts that both sides changed
    /// are merged.
    pub(super) fn plan(&self, chosen: &[Difference], merge: bool) -> Result<Plan> {
        let mut plan = Plan::default();
        let comparison_error = |fault: Fault| failed("compare", &fault);
        for (difference, (now, is_there)) in chosen.iter().zip(self.now(chosen)?) {
            if is_there || difference.is_unchanged() {
                continue;
            }
            if now == difference.was {
                plan.acts.push(self.act(difference, now.as_ref()).map_err(comparison_error)?);
                continue;
            }
            let merged = if merge { self.merged(difference, now.as_ref()).map_err(comparison_error)? } else { None };
            match merged {
                Some(act) => plan.acts.push(act),
                None => plan.conflicts.push(self.conflict(difference, now.as_ref()).map_err(comparison_error)?),
            }
        }
        Ok(plan)
    }

    pub(super) fn act(&self, difference: &Difference, now: Option<&BaseEntry>) -> FsResult<CommitAction> {
        let make = match &difference.is {
            None => TargetState::Nothing,
            Some(Is::Directory) => TargetState::Directory,
            Some(Is::Link { target: Some(target) }) => TargetState::Link(target.clone()),
            Some(Is::File { size, sha256 }) => {
                let location = self.overlay.upper_location(difference)?;
                TargetState::File(FileContent::known(location, *size, sha256.clone(), self.mode()))
            }
            Some(Is::Link { target: None } | Is::Other) => return Err(Fault::Unsupported),
        };
        let sha256 = match now {
            Some(BaseEntry::File { sha256, .. }) => sha256.clone(),
            _ => None,
        };
        Ok(CommitAction { path: self.path(difference), now: now.map(BaseEntry::kind), sha256, make, is_merged: false })
    }

    /// Returns which mode a committed file gets. A recovery has opened the overlay in the state directory, which is writable.
    fn mode(&self) -> Mode {
        match (self.is_recovery, self.policy.host.lends_modes) {
            (true, _) => Mode::Copied,
            (false, true) => Mode::Lent,
            (false, false) => Mode::OfNewFile,
        }
    }

    /// Returns the merged file, if all three versions are text and the two sides changed different lines.
    pub(super) fn merged(&self, difference: &Difference, now: Option<&BaseEntry>) -> FsResult<Option<CommitAction>> {
        let (Some(BaseEntry::File { .. }), Some(Is::File { size, .. }), Some(BaseEntry::File { size: base_size, .. })) =
            (&difference.was, &difference.is, now)
        else {
            return Ok(None);
        };
        let (Some(old), ours, theirs) = (
            self.origin(difference)?,
            self.read(self.overlay.upper_location(difference)?, *size)?,
            self.read(self.overlay.base_location(difference)?, *base_size)?,
        ) else {
            return Ok(None);
        };
        let Some(merged) = merge(&old, &ours, &theirs) else { return Ok(None) };
        let act = self.act(difference, now)?;
        Ok(Some(CommitAction { make: TargetState::File(merged.into()), is_merged: true, ..act }))
    }

    fn origin(&self, difference: &Difference) -> FsResult<Option<Vec<u8>>> {
        let Some(BaseEntry::File { size, .. }) = difference.was else { return Ok(None) };
        match self.overlay.origin_location(difference) {
            Err(Fault::NotFound) => Ok(None),
            location => self.read(location?, size).map(Some),
        }
    }

    fn conflict(&self, difference: &Difference, now: Option<&BaseEntry>) -> FsResult<Conflict> {
        let path = self.path(difference);
        let old = self.origin(difference)?.unwrap_or_default();
        let of_file = |location: FsResult<_>, size: u64| match location.and_then(|location| self.read(location, size)) {
            Err(Fault::TooLarge | Fault::NotFound) => Ok(Vec::new()),
            other => other,
        };
        let theirs = match now {
            Some(BaseEntry::File { size, .. }) => of_file(self.overlay.base_location(difference), *size)?,
            _ => Vec::new(),
        };
        let ours = match &difference.is {
            Some(Is::File { size, .. }) => of_file(self.overlay.upper_location(difference), *size)?,
            _ => Vec::new(),
        };
        let diff = |new: &[u8]| match (git::text(&old), git::text(new)) {
            (Some(old), Some(new)) => {
                diff::unified(&path, (old, new), &git::line_changes(old, new), diff::CONTEXT, MAX_DIFF)
            }
            _ => String::new(),
        };
        let cause = match (&difference.was, now) {
            (None, _) => "the base now has an entry at this path",
            (Some(BaseEntry::Directory { .. }), Some(BaseEntry::Directory { .. })) => {
                "an entry of that directory was changed"
            }
            (_, None) => "it was removed in the base",
            _ => "it was changed in the base",
        };
        Ok(Conflict { cause: cause.to_owned(), theirs: diff(&theirs), ours: diff(&ours), path })
    }
}

/// Returns the error for a path that a symbolic link redirects elsewhere.
pub fn moved(path: &str) -> Error {
    Error::at(Code::ChangedSinceRead, "commit", path, "a directory on the way to it is a link now")
        .hint("nothing was committed; check the link in the workspace, or leave the path out")
}
