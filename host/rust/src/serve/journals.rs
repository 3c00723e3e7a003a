//! Journals in the state directories of one workspace: of changes that run, or that were cut off. Each root has journals of
//! its own: the directory of the workspace, and each part that a token made a root.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::time::Duration;

use super::narrowing::InnerPath;
use crate::budget::CallBudget;
use crate::directory::{Deferred, Directory, found};
use crate::policy::Limits;
use crate::state::{self, StateDir};
use crate::types::{ErrorCode, ToolError};

/// The state directories of one workspace, below the directory of all state directories.
#[derive(Clone)]
pub(super) struct Journals {
    parent: Option<Deferred>,
    /// Name of the state directory of the whole workspace.
    whole: String,
}

impl Journals {
    pub(super) fn new(parent: Option<Deferred>, whole: String) -> Self {
        Self { parent, whole }
    }

    /// Returns the name of the directory that has the state directories of the parts. No name of a workspace contains `@`.
    pub(super) fn parts_name(whole: &str) -> String {
        format!("{whole}{}", state::PARTS)
    }

    /// Returns whether parts of the workspace may have journals. This takes one system call.
    pub(super) fn may_be_of_parts(&self) -> bool {
        let is_missing = |parent: Directory| {
            let parts = parent.entries().symlink_metadata(Self::parts_name(&self.whole));
            parts.is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound)
        };
        self.parent().map_or(true, |parent| parent.is_some_and(|parent| !is_missing(parent)))
    }

    /// Returns the roots that have a journal; `None` is the whole workspace. The time grows with the number of parts.
    pub(super) fn roots(&self) -> io::Result<Vec<Option<InnerPath>>> {
        let Some(parent) = self.parent()? else { return Ok(Vec::new()) };
        let mut roots = Vec::new();
        roots.extend(has_journal(&parent, self.whole.as_ref())?.then_some(None));
        let Some(parts) = self.parts_directory()? else { return Ok(roots) };
        for (part, name) in named_parts(&parts)? {
            roots.extend(has_journal(&parts, &name)?.then_some(Some(part)));
        }
        Ok(roots)
    }

    /// Waits until no change of this root runs. Returns whether its last change was cut off.
    pub(super) fn is_cut_off(&self, root: Option<&InnerPath>) -> Result<bool, ToolError> {
        let Some(directory) = self.directory(root).map_err(|cause| state::failed(&cause))? else { return Ok(false) };
        let patience = Duration::from_millis(Limits::default().max_time_ms);
        let _lock = StateDir::lock(&directory, &CallBudget::within(patience))?;
        Ok(StateDir::has_journal(&directory))
    }

    /// Fails if the change of another root was cut off, for a caller who holds the locks of its own root `own`.
    pub(super) fn check_others(&self, own: Option<&InnerPath>) -> Result<(), ToolError> {
        let roots = self.roots().map_err(|cause| state::failed(&cause))?;
        match roots.iter().any(|root| root.as_ref() != own) {
            false => Ok(()),
            true => {
                Err(ToolError::new(ErrorCode::LimitExceeded, "another change of this workspace was cut off meanwhile")
                    .hint("call again: the server then completes or undoes that change first; nothing was changed"))
            }
        }
    }

    /// Returns the parts that have state directories.
    pub(super) fn parts(&self) -> io::Result<HashSet<InnerPath>> {
        let Some(parts) = self.parts_directory()? else { return Ok(HashSet::new()) };
        Ok(named_parts(&parts)?.map(|(part, _)| part).collect())
    }

    /// Returns the state directory of a root.
    fn directory(&self, root: Option<&InnerPath>) -> io::Result<Option<Directory>> {
        let (above, name) = match root {
            Some(part) => (self.parts_directory()?, part.to_name()),
            None => (self.parent()?, self.whole.clone()),
        };
        above.map_or(Ok(None), |above| found(above.subdirectory(name)))
    }

    fn parts_directory(&self) -> io::Result<Option<Directory>> {
        self.parent()?.map_or(Ok(None), |parent| found(parent.subdirectory(Self::parts_name(&self.whole))))
    }

    fn parent(&self) -> io::Result<Option<Directory>> {
        match self.parent.as_ref().map_or(Ok(None), Deferred::get) {
            // No call can have a state directory there.
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => Ok(None),
            parent => parent,
        }
    }
}

/// Returns the parts that have a state directory in `parts`, and its name.
fn named_parts(parts: &Directory) -> io::Result<impl Iterator<Item = (InnerPath, OsString)>> {
    let names = parts.names_in(OsStr::new("."))?.into_iter();
    Ok(names.filter_map(|name| Some((InnerPath::from_name(name.to_str()?)?, name))))
}

/// Returns whether the state directory `name` has a journal.
fn has_journal(parent: &Directory, name: &OsStr) -> io::Result<bool> {
    let names = found(parent.names_in(name))?.unwrap_or_default();
    Ok(names.iter().any(|name| state::is_journal(name)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::directory::Walk;

    #[test]
    fn journals_of_all_roots_are_found_and_any_other_one_prevents_a_change() {
        let home = tempfile::tempdir().unwrap();
        let journals = |whole: &str| {
            let parent = Deferred::new(Walk::new(home.path()).unwrap()).unwrap();
            Journals::new(Some(parent), whole.to_owned())
        };
        let notes = journals("notes");
        assert!(!notes.may_be_of_parts() && notes.roots().unwrap().is_empty());
        for directory in ["notes@/docs", "notes@/src@lib", "notes@/empty", "notes", "other@/docs"] {
            fs::create_dir_all(home.path().join(directory)).unwrap();
            fs::write(home.path().join(directory).join("lock"), "").unwrap();
        }
        fs::write(home.path().join("notes@/file"), "").unwrap();
        assert!(notes.may_be_of_parts() && notes.roots().unwrap().is_empty());
        let part = |path: &str| InnerPath::parse(path).unwrap();
        for (directory, root) in [("notes@/docs", part("docs")), ("notes@/src@lib", part("src/lib")), ("notes", None)] {
            let journal = home.path().join(directory).join("journal-0000000000000000");
            fs::write(&journal, "").unwrap();
            assert_eq!(notes.roots().unwrap(), std::slice::from_ref(&root));
            assert!(notes.is_cut_off(root.as_ref()).unwrap() && notes.check_others(root.as_ref()).is_ok());
            assert!(notes.check_others(part("empty").as_ref()).is_err());
            assert!(journals("other").roots().unwrap().is_empty());
            fs::remove_file(journal).unwrap();
            assert!(!notes.is_cut_off(root.as_ref()).unwrap());
        }
        assert_eq!(notes.parts().unwrap().len(), 4);
    }
}
