//! Journals in the state directories of one workspace: of changes that run, or that were cut off. Each root has journals of
//! its own: the directory of the workspace, and each part that a token made a root.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::narrowing::InnerPath;
use super::refusal::Refusal;
use crate::budget::CallBudget;
use crate::directory::{Deferred, Directory, found};
use crate::policy::Limits;
use crate::roots::OtherRoots;
use crate::state::{self, StateDir};
use crate::types::ToolError;

/// The state directories of one workspace, below the directory of all state directories.
#[derive(Clone)]
pub(super) struct Journals {
    parent: Option<Deferred>,
    /// Name of the state directory of the whole workspace.
    whole: String,
    /// The directory of the whole workspace.
    directory: Directory,
}

/// A root of the workspace that has a journal.
pub(super) struct Root {
    /// `None` for the whole workspace.
    pub(super) part: Option<InnerPath>,
    pub(super) directory: Directory,
}

impl Journals {
    pub(super) fn new(parent: Option<Deferred>, whole: String, directory: Directory) -> Self {
        Self { parent, whole, directory }
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

    /// Returns the roots that have a journal, among those that contain the root `own` or are in it. A part that was removed is
    /// not among them. The time grows with the number of parts.
    pub(super) fn roots(&self, own: Option<&InnerPath>) -> Result<Vec<Root>, Refusal> {
        let mut roots = Vec::new();
        for part in self.parts_with_journals(own).map_err(Refusal::state)? {
            let directory =
                part.as_ref().map_or(Ok(Some(self.directory.clone())), |part| part.find(&self.directory))?;
            roots.extend(directory.map(|directory| Root { part, directory }));
        }
        Ok(roots)
    }

    fn parts_with_journals(&self, own: Option<&InnerPath>) -> io::Result<Vec<Option<InnerPath>>> {
        let Some(parent) = self.parent()? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        found.extend(has_journal(&parent, self.whole.as_ref())?.then_some(None));
        let Some(parts) = self.parts_directory()? else { return Ok(found) };
        for (part, name) in named_parts(&parts)?.filter(|(part, _)| own.is_none_or(|own| own.overlaps(part))) {
            found.extend(has_journal(&parts, &name)?.then_some(Some(part)));
        }
        Ok(found)
    }

    /// Waits until no change of this root runs. Returns whether its last change was cut off.
    pub(super) fn is_cut_off(&self, root: Option<&InnerPath>) -> Result<bool, ToolError> {
        let Some(directory) = self.directory(root).map_err(|cause| state::failed(&cause))? else { return Ok(false) };
        let patience = Duration::from_millis(Limits::default().max_time_ms);
        let _lock = StateDir::lock(&directory, &CallBudget::within(patience))?;
        Ok(StateDir::has_journal(&directory))
    }

    /// Returns the roots other than `own` that contain it or are in it. `recover` completes or undoes the changes of all roots
    /// that contain `own` or are in it.
    pub(super) fn others<R>(self, own: Option<InnerPath>, recover: R) -> Arc<dyn OtherRoots>
    where
        R: Fn(Option<&InnerPath>) -> Result<(), Refusal> + Send + Sync + 'static,
    {
        Arc::new(Others { journals: self, own, recover })
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

struct Others<R> {
    journals: Journals,
    own: Option<InnerPath>,
    recover: R,
}

impl<R: Fn(Option<&InnerPath>) -> Result<(), Refusal> + Send + Sync> OtherRoots for Others<R> {
    fn are_cut_off(&self) -> Result<bool, ToolError> {
        let roots = self.journals.roots(self.own.as_ref())?;
        Ok(roots.iter().any(|root| root.part != self.own))
    }

    fn recover(&self) -> Result<(), ToolError> {
        Ok((self.recover)(self.own.as_ref())?)
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
    fn journals_are_found_of_roots_that_contain_one_another() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        for part in ["docs", "src/lib"] {
            fs::create_dir_all(root.join(part)).unwrap();
        }
        let journals = |whole: &str| {
            let parent = Deferred::new(Walk::new(home.path()).unwrap()).unwrap();
            Journals::new(Some(parent), whole.to_owned(), Directory::open(&root).unwrap())
        };
        let part = |path: &str| InnerPath::parse(path).unwrap();
        let parts = |journals: &Journals, own: &str| {
            let roots = journals.roots(part(own).as_ref()).unwrap();
            roots.into_iter().map(|root| root.part).collect::<Vec<_>>()
        };
        let are_others_cut_off =
            |journals: &Journals, own: &str| journals.clone().others(part(own), |_| Ok(())).are_cut_off().unwrap();
        let notes = journals("notes");
        assert!(!notes.may_be_of_parts() && parts(&notes, "").is_empty());
        for directory in ["notes@/docs", "notes@/src@lib", "notes@/gone", "notes", "other@/docs"] {
            fs::create_dir_all(home.path().join(directory)).unwrap();
            fs::write(home.path().join(directory).join("lock"), "").unwrap();
        }
        fs::write(home.path().join("notes@/file"), "").unwrap();
        assert!(notes.may_be_of_parts() && parts(&notes, "").is_empty());
        let all = ["", "docs", "DOCS", "docs/in", "docs2", "src", "src/lib", "src/lib/in", "src/lib2"];
        for (directory, root, apart) in [
            ("notes@/docs", "docs", &["docs2", "src", "src/lib", "src/lib/in", "src/lib2"][..]),
            ("notes@/src@lib", "src/lib", &["docs", "DOCS", "docs/in", "docs2", "src/lib2"]),
            ("notes", "", &[]),
        ] {
            let journal = home.path().join(directory).join("journal-0000000000000000");
            fs::write(&journal, "").unwrap();
            assert!(notes.is_cut_off(part(root).as_ref()).unwrap());
            for own in all {
                let is_apart = apart.contains(&own);
                assert_eq!(parts(&notes, own), if is_apart { vec![] } else { vec![part(root)] }, "{root}, {own}");
                assert_eq!(are_others_cut_off(&notes, own), !is_apart && own != root, "{root}, {own}");
            }
            assert!(parts(&journals("other"), "").is_empty());
            fs::remove_file(journal).unwrap();
            assert!(!notes.is_cut_off(part(root).as_ref()).unwrap());
        }
        fs::write(home.path().join("notes@/gone/journal-0000000000000000"), "").unwrap();
        assert!(parts(&notes, "").is_empty() && !are_others_cut_off(&notes, ""));
        assert_eq!(notes.parts().unwrap().len(), 4);
    }
}
