//! Journals in the state directories of one workspace: of changes that run, or that were cut off. Each root has journals of
//! its own: the directory of the workspace, and each part that a token made a root.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use cap_std::fs::MetadataExt;

use super::lock;
use super::narrowing::InnerPath;
use super::refusal::Refusal;
use super::telemetry::log;
use crate::budget::CallBudget;
use crate::directory::{Deferred, Directory, Identity, found};
use crate::overlay::state_path;
use crate::state::{self, StateDir};
use crate::types::ToolError;

/// Maximum number of journals that have no effect, in memory. More are found again.
const MAX_IGNORED: usize = 4096;

/// Journals that have no effect.
pub(super) type Ignored = Arc<Mutex<HashSet<Stamp>>>;

/// A journal in the state directory of a root. The values tell it from any other one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    /// The root, whose path is a part of the name of its journal, like its inode.
    root: (Identity, PathBuf),
    journal: Identity,
    /// Seconds and nanoseconds of the last change.
    changed: (i64, i64),
}

/// The state directories of one workspace, below the directory of all state directories.
#[derive(Clone)]
pub(super) struct Journals {
    parent: Option<Deferred>,
    /// Name of the state directory of the whole workspace.
    whole: String,
    /// The directory of the whole workspace.
    directory: Directory,
    ignored: Ignored,
}

/// A root of the workspace that can have journals.
pub(super) struct Root {
    /// `None` for the whole workspace.
    pub(super) part: Option<InnerPath>,
    pub(super) directory: Directory,
    /// The overlay of the whole workspace that has the journals, instead of the workspace itself.
    pub(super) overlay: Option<String>,
}

impl Journals {
    pub(super) fn new(parent: Option<Deferred>, whole: String, directory: Directory, ignored: Ignored) -> Self {
        Self { parent, whole, directory, ignored }
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

    /// Returns whether the whole workspace may have a journal.
    pub(super) fn may_be_of_whole(&self) -> bool {
        let has_journal = |parent: Directory| has_journal(&parent, self.whole.as_ref()).unwrap_or(true);
        self.parent().map_or(true, |parent| parent.is_some_and(has_journal))
    }

    /// Returns the roots that have a journal, among those that contain the root `own` or are in it. A part that was removed is
    /// not among them. The time grows with the number of parts.
    pub(super) fn roots(&self, own: Option<&InnerPath>) -> Result<Vec<Root>, Refusal> {
        let mut roots = Vec::new();
        for part in self.parts_with_journals(own).map_err(Refusal::state)? {
            let directory =
                part.as_ref().map_or(Ok(Some(self.directory.clone())), |part| part.find(&self.directory))?;
            let root = directory.map(|directory| Root { part, directory, overlay: None });
            if let Some(root) = root
                && !self.stamps(&root).map_err(Refusal::state)?.is_empty()
            {
                roots.push(root);
            }
        }
        Ok(roots)
    }

    /// Returns the root of calls in the overlay of this name over the whole workspace.
    pub(super) fn of_overlay(&self, name: &str) -> Root {
        Root { part: None, directory: self.directory.clone(), overlay: Some(name.to_owned()) }
    }

    /// Returns the directory of the whole workspace.
    pub(super) fn directory(&self) -> &Directory {
        &self.directory
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

    /// If this root has journals, waits until no change of it runs. Returns the journals of changes that were cut off.
    pub(super) fn cut_off(&self, root: &Root, budget: &CallBudget) -> Result<HashSet<Stamp>, ToolError> {
        let failed = |cause: io::Error| state::failed(&cause);
        let Some(directory) = self.state_directory(root).map_err(failed)? else { return Ok(HashSet::new()) };
        if self.stamps(root).map_err(failed)?.is_empty() {
            return Ok(HashSet::new());
        }
        let _lock = StateDir::lock(&directory, budget)?;
        self.stamps(root).map_err(failed)
    }

    /// Returns whether a change of this root runs.
    pub(super) fn is_running(&self, root: &Root) -> Result<bool, ToolError> {
        let directory = self.state_directory(root).map_err(|cause| state::failed(&cause))?;
        directory.map_or(Ok(false), |directory| StateDir::is_locked(&directory))
    }

    /// Ignores those of the journals that this root still has after a recovery, for a reason.
    pub(super) fn ignore(
        &self,
        root: &Root,
        journals: &HashSet<Stamp>,
        reason: &str,
        budget: &CallBudget,
    ) -> Result<(), ToolError> {
        let still = self.cut_off(root, budget)?;
        let found: Vec<_> = journals.intersection(&still).cloned().collect();
        if found.is_empty() {
            return Ok(());
        }
        let mut ignored = lock(&self.ignored);
        if ignored.len() + found.len() > MAX_IGNORED {
            ignored.clear();
        }
        ignored.extend(found);
        let name = self.parent.as_ref().map(|parent| parent.path().join(self.name(root))).unwrap_or_default();
        log(&format!("paddock: the change of the journal in `{}` stays cut off: {reason}", name.display()));
        Ok(())
    }

    /// Returns the parts that have state directories.
    pub(super) fn parts(&self) -> io::Result<HashSet<InnerPath>> {
        let Some(parts) = self.parts_directory()? else { return Ok(HashSet::new()) };
        Ok(named_parts(&parts)?.map(|(part, _)| part).collect())
    }

    /// Returns the path of the state directory of a root, below that of all state directories.
    fn name(&self, root: &Root) -> PathBuf {
        match (&root.part, &root.overlay) {
            (Some(part), _) => PathBuf::from(Self::parts_name(&self.whole)).join(part.to_name()),
            (None, None) => PathBuf::from(&self.whole),
            (None, Some(overlay)) => PathBuf::from(&self.whole).join(state_path(overlay)),
        }
    }

    fn state_directory(&self, root: &Root) -> io::Result<Option<Directory>> {
        let Some(parent) = self.parent()? else { return Ok(None) };
        found(parent.descend(self.name(root).iter()))
    }

    /// Returns the journals of a root that have an effect.
    fn stamps(&self, root: &Root) -> io::Result<HashSet<Stamp>> {
        let Some(directory) = self.state_directory(root)? else { return Ok(HashSet::new()) };
        let names = directory.names()?.into_iter().filter(|name| state::is_journal(name));
        let mut stamps = HashSet::new();
        for name in names {
            if let Some(metadata) = found(directory.entries().symlink_metadata(name))? {
                let (journal, changed) = (Identity::of(&metadata), (metadata.ctime(), metadata.ctime_nsec()));
                let root = (root.directory.identity(), root.directory.path().to_owned());
                stamps.insert(Stamp { root, journal, changed });
            }
        }
        let ignored = lock(&self.ignored);
        stamps.retain(|stamp| !ignored.contains(stamp));
        Ok(stamps)
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
    let names = parts.names()?.into_iter();
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
    use std::time::Duration;

    use super::*;
    use crate::directory::Walk;

    fn budget() -> CallBudget {
        CallBudget::within(Duration::from_secs(30))
    }

    #[test]
    fn journals_are_found_of_roots_that_contain_one_another() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        for part in ["docs", "src/lib"] {
            fs::create_dir_all(root.join(part)).unwrap();
        }
        let journals = |whole: &str| {
            let parent = Deferred::new(Walk::new(home.path()).unwrap()).unwrap();
            Journals::new(Some(parent), whole.to_owned(), Directory::open(&root).unwrap(), Ignored::default())
        };
        let part = |path: &str| InnerPath::parse(path).unwrap();
        let parts = |journals: &Journals, own: &str| {
            let roots = journals.roots(part(own).as_ref()).unwrap();
            roots.into_iter().map(|root| root.part).collect::<Vec<_>>()
        };
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
            let roots = notes.roots(part(root).as_ref()).unwrap();
            assert_eq!(notes.cut_off(&roots[0], &budget()).unwrap().len(), 1);
            for own in all {
                let is_apart = apart.contains(&own);
                assert_eq!(parts(&notes, own), if is_apart { vec![] } else { vec![part(root)] }, "{root}, {own}");
            }
            assert!(parts(&journals("other"), "").is_empty());
            fs::remove_file(journal).unwrap();
            assert!(notes.cut_off(&roots[0], &budget()).unwrap().is_empty());
        }
        fs::write(home.path().join("notes@/gone/journal-0000000000000000"), "").unwrap();
        assert!(parts(&notes, "").is_empty());
        assert_eq!(notes.parts().unwrap().len(), 4);
    }

    #[test]
    fn a_journal_that_remains_after_a_recovery_has_no_effect() {
        let home = tempfile::tempdir().unwrap();
        let parent = Deferred::new(Walk::new(home.path()).unwrap()).unwrap();
        let root = Directory::open(home.path()).unwrap();
        let journals = Journals::new(Some(parent), "notes".to_owned(), root, Ignored::default());
        let directory = home.path().join("notes");
        fs::create_dir(&directory).unwrap();
        let journal = directory.join("journal-0000000000000000");
        fs::write(&journal, "foreign").unwrap();
        let root = Root { part: None, directory: journals.directory.clone(), overlay: None };
        let before = journals.cut_off(&root, &budget()).unwrap();
        journals.ignore(&root, &before, "test", &budget()).unwrap();
        assert!(before.len() == 1 && journals.cut_off(&root, &budget()).unwrap().is_empty());
        assert!(journals.roots(None).unwrap().is_empty());
        // The directory of which the journal is can come back.
        let other = tempfile::tempdir().unwrap();
        let other = Root { part: None, directory: Directory::open(other.path()).unwrap(), overlay: None };
        assert_eq!(journals.cut_off(&other, &budget()).unwrap().len(), 1);
        // Another process was cut off meanwhile.
        fs::write(directory.join("new"), "own").unwrap();
        fs::rename(directory.join("new"), &journal).unwrap();
        journals.ignore(&root, &before, "test", &budget()).unwrap();
        assert_eq!(journals.cut_off(&root, &budget()).unwrap().len(), 1);
        assert_eq!(journals.roots(None).unwrap().len(), 1);
    }
}
