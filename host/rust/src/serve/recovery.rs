//! Completion of changes that were cut off, before a call begins and again while it waits for its locks.
//!
//! A change of a directory touches the files of every other root that contains the directory or is in it: of the whole
//! workspace, of the parts that tokens made roots, and of other workspaces of the configuration.

use std::sync::{Arc, Weak};

use super::journals::Journals;
use super::narrowing::{InnerPath, Narrowing};
use super::refusal::Refusal;
use super::target::Target;
use super::workspaces::{Workspaces, layers};
use crate::directory::Directory;
use crate::roots::OtherRoots;
use crate::types::ToolError;

impl Workspaces {
    /// Returns whether a change that a call by this caller neither waits for nor completes may run, or may have been cut off:
    /// one of another root, or for a caller with restrictions, which may forbid to complete it, any change.
    pub(super) fn may_be_unfinished(&self, target: &Target, narrowing: &Narrowing) -> bool {
        let Some((directory, journals)) = target.directory().zip(self.journals(target)) else { return false };
        !narrowing.is_empty()
            || target.overlay().is_some()
            || !self.related.to(&target.name, directory).is_empty()
            || journals.may_be_of_parts()
    }

    /// Waits for the running changes of the roots that contain a part of a workspace or are in it, and completes or undoes
    /// those that were cut off. This blocks the thread.
    pub(super) fn recover(self: &Arc<Self>, target: &Target, part: Option<&InnerPath>) -> Result<(), Refusal> {
        let Some(directory) = target.directory() else { return Ok(()) };
        self.recover_roots(target, part)?;
        let root = part.map_or(Ok(Some(directory.clone())), |part| part.find(directory))?;
        for name in root.iter().flat_map(|root| self.related.to(&target.name, root)) {
            self.recover_roots(&self.find(name)?, None)?;
        }
        Ok(())
    }

    /// Recovers the roots of one workspace.
    fn recover_roots(self: &Arc<Self>, target: &Target, part: Option<&InnerPath>) -> Result<(), Refusal> {
        let (Some(directory), Some(journals)) = (target.directory(), self.journals(target)) else { return Ok(()) };
        for root in journals.roots(part)? {
            let part = root.part.as_ref();
            let cut_off = journals.cut_off(part).map_err(Refusal::Unfinished)?;
            if cut_off.is_empty() {
                continue;
            }
            // The rules for the paths of tokens are not checked: a file that was created later must not prevent the recovery.
            let layers = layers(directory, &target.source, &Narrowing::default())?;
            // The journals are of the directory itself, and not of an overlay of it.
            let served = self.directory(target, &root.directory, part, &layers, None)?;
            if served.workspace.recover().map_err(Refusal::Unfinished)? {
                journals.ignore(part, &cut_off).map_err(Refusal::Unfinished)?;
            }
        }
        Ok(())
    }

    /// Returns the roots that contain `root` or are in it, for a change in `root`.
    pub(super) fn other_roots(
        self: &Arc<Self>,
        target: &Target,
        root: &Directory,
        part: Option<&InnerPath>,
    ) -> Result<Option<Arc<dyn OtherRoots>>, Refusal> {
        let Some(journals) = self.journals(target) else { return Ok(None) };
        let mut related = Vec::new();
        for name in self.related.to(&target.name, root) {
            related.extend(self.journals(&self.find(name)?));
        }
        let (all, target, part) = (Arc::downgrade(self), target.clone(), part.cloned());
        Ok(Some(Arc::new(Others { all, target, part, journals, related })))
    }
}

struct Others {
    all: Weak<Workspaces>,
    target: Target,
    /// The root of the change: a part of the workspace, or the whole.
    part: Option<InnerPath>,
    journals: Journals,
    /// The journals of other workspaces.
    related: Vec<Journals>,
}

impl OtherRoots for Others {
    fn are_cut_off(&self) -> Result<bool, ToolError> {
        if self.journals.roots(self.part.as_ref())?.iter().any(|root| root.part != self.part) {
            return Ok(true);
        }
        for journals in &self.related {
            if !journals.roots(None)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn recover(&self) -> Result<(), ToolError> {
        let all = self.all.upgrade().ok_or(Refusal::Unknown)?;
        Ok(all.recover(&self.target, self.part.as_ref())?)
    }
}
