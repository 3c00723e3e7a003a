//! Completion of changes that were cut off, before a call begins and again while it waits for its locks.
//!
//! A change of a directory touches the files of every other root that contains the directory or is in it: of the whole
//! workspace, of the parts that tokens made roots, and of other workspaces of the configuration.

use std::sync::{Arc, Weak};

use serde_json::{Map, Value};

use super::journals::{Journals, Root};
use super::narrowing::{InnerPath, Narrowing};
use super::refusal::Refusal;
use super::served::Served;
use super::target::{Purpose, Target};
use super::workspaces::{Workspaces, layers};
use crate::budget::CallBudget;
use crate::directory::Directory;
use crate::policy::{Layers, PolicyLayer};
use crate::roots::OtherRoots;
use crate::types::ToolError;

/// Reasons why a change stays cut off.
const READ_ONLY: &str = "the workspace is read-only";
const OTHER_ROOTS: &str = "it is of another directory than the one that is there now, or of further directories, which the policy does not allow any more";

impl Workspaces {
    /// Returns whether a change may run or may have been cut off that a call by this caller neither waits for nor completes, or
    /// that it would read beside if its recovery fails. `opened` is the workspace, if it is open.
    pub(super) fn may_be_unfinished(
        &self,
        target: &Target,
        narrowing: &Narrowing,
        opened: Option<&Arc<Served>>,
    ) -> bool {
        let Some((directory, journals)) = target.directory().zip(self.journals(target)) else { return false };
        !narrowing.is_empty()
            // Calls with a token that restricts the mode have fewer roots, and so another journal.
            || opened.is_none_or(|served| served.workspace.guests().roots.mounts.len() > 1)
            || target.overlay().is_some()
            || !self.related.to(&target.name, directory).is_empty()
            || journals.may_be_of_parts()
            // A recovery that fails in the call itself would not stop a call that reads.
            || journals.may_be_of_whole()
    }

    /// Waits for the running changes of the roots that contain a part of a workspace or are in it, and completes or undoes
    /// those that were cut off. This blocks the thread.
    pub(super) fn recover(
        self: &Arc<Self>,
        target: &Target,
        part: Option<&InnerPath>,
        budget: &CallBudget,
    ) -> Result<(), Refusal> {
        let Some(directory) = target.directory() else { return Ok(()) };
        // The call of a part that does not exist fails.
        let root = part.map_or(Ok(Some(directory.clone())), |part| part.find(directory))?;
        let Some(own) = root else { return Ok(()) };
        self.recover_roots(target, part, &own, budget)?;
        if let Some((journals, overlay)) = self.journals(target).zip(target.overlay()) {
            // The caller may not be allowed to complete what was cut off in the overlay.
            self.recover_root(target, &journals, &journals.of_overlay(overlay), budget)?;
        }
        for name in self.related.to(&target.name, &own) {
            self.recover_roots(&self.find(name)?, None, &own, budget)?;
        }
        Ok(())
    }

    /// Recovers the roots of one workspace that contain `own` or are in it.
    fn recover_roots(
        self: &Arc<Self>,
        target: &Target,
        part: Option<&InnerPath>,
        own: &Directory,
        budget: &CallBudget,
    ) -> Result<(), Refusal> {
        let Some(journals) = self.journals(target) else { return Ok(()) };
        for root in journals.roots(part)?.into_iter().filter(|root| are_nested(&root.directory, own)) {
            self.recover_root(target, &journals, &root, budget)?;
        }
        Ok(())
    }

    fn recover_root(
        self: &Arc<Self>,
        target: &Target,
        journals: &Journals,
        root: &Root,
        budget: &CallBudget,
    ) -> Result<(), Refusal> {
        let cut_off = journals.cut_off(root, budget).map_err(Refusal::Unfinished)?;
        if cut_off.is_empty() {
            return Ok(());
        }
        // The rules for the paths of tokens are not checked: a file that was created later must not prevent the recovery.
        let layers = layers(journals.directory(), &target.source, &Narrowing::default())?;
        let purpose = if root.overlay.is_some() { Purpose::UnindexedCalls } else { Purpose::Recovery };
        let mut reason = READ_ONLY;
        // The mode decides which roots a call has, and so which journal. A token can restrict it.
        for layers in [restricted(&layers)?, layers] {
            let served = self.directory(target, &root.directory, root.part.as_ref(), &layers, purpose)?;
            if served.workspace.recover().map_err(Refusal::Unfinished)? {
                reason = OTHER_ROOTS;
            }
        }
        journals.ignore(root, &cut_off, reason, budget).map_err(Refusal::Unfinished)
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
        let (all, target, root, part) = (Arc::downgrade(self), target.clone(), root.clone(), part.cloned());
        Ok(Some(Arc::new(Others { all, target, root, part, journals, related })))
    }
}

/// Returns the policy with the mode in which a call has no root but the directory.
fn restricted(layers: &Layers) -> Result<Layers, Refusal> {
    let settings = Map::from_iter([("mode".to_owned(), Value::from("restricted"))]);
    let layer = PolicyLayer::of_token("recovery", settings).map_err(Refusal::Failed)?;
    layers.clone().with(&layer).map_err(Refusal::Failed)
}

/// Returns whether one of two directories contains the other, or both are the same.
fn are_nested(one: &Directory, other: &Directory) -> bool {
    one.is_in(other.identity()) || other.is_in(one.identity())
}

/// Returns whether a directory is in the other one, and is another one.
fn is_part(part: &Directory, whole: &Directory) -> bool {
    part.identity() != whole.identity() && part.is_in(whole.identity())
}

struct Others {
    all: Weak<Workspaces>,
    target: Target,
    root: Directory,
    /// The root as a part of the workspace, unless it is the whole.
    part: Option<InnerPath>,
    journals: Journals,
    /// The journals of other workspaces.
    related: Vec<Journals>,
}

impl OtherRoots for Others {
    fn are_cut_off(&self) -> Result<bool, ToolError> {
        let is_overlay = self.target.overlay().is_some();
        // The journals of an overlay are others than those of its directory.
        let is_other = |root: &Root| is_overlay || root.part != self.part;
        let own = self.journals.roots(self.part.as_ref())?.into_iter().filter(is_other);
        let mut others: Vec<_> = own.map(|root| (&self.journals, root)).collect();
        for journals in &self.related {
            others.extend(journals.roots(None)?.into_iter().map(|root| (journals, root)));
        }
        for (journals, root) in others.iter().filter(|(_, root)| are_nested(&root.directory, &self.root)) {
            // The locks of an overlay do not exclude changes of parts of its directory.
            let may_run = is_overlay && is_part(&root.directory, &self.root);
            if !may_run || !journals.is_running(root)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn recover(&self, budget: &CallBudget) -> Result<(), ToolError> {
        let all = self.all.upgrade().ok_or(Refusal::Unknown)?;
        Ok(all.recover(&self.target, self.part.as_ref(), budget)?)
    }
}
