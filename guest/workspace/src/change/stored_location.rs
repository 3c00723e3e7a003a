//! The location of a change as stored in the journal, and its conversion to an open directory plus entry name.

use paddock_types::path::is_entry_name;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::{Fault, FsResult};
use serde::{Deserialize, Serialize};

use crate::Workspace;
use crate::resolved_path::ResolvedPath;

/// An entry name below a root, in a form that a later call can resolve again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredLocation {
    /// Label of the root.
    pub root: String,
    /// Names of the directories from the root down to the entry.
    pub above: Vec<String>,
    /// Name of the entry.
    pub name: String,
}

impl StoredLocation {
    /// Returns the stored form of a resolved path that is not a root.
    pub fn of(workspace: &Workspace<'_>, resolved: &ResolvedPath) -> Self {
        let root = workspace.roots.get(resolved.root).map(|root| root.label.clone()).unwrap_or_default();
        let above = resolved.ancestors.iter().map(|(name, _)| name).chain(&resolved.missing).cloned().collect();
        Self { root, above, name: resolved.name.clone() }
    }

    /// Returns the location of the entry `name` in the same directory.
    pub fn sibling(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// Returns the location of the parent directory; `None` if the parent is the root.
    pub fn parent(&self) -> Option<Self> {
        let (name, above) = self.above.split_last()?;
        Some(Self { root: self.root.clone(), above: above.to_vec(), name: name.clone() })
    }

    /// Returns the path as results show it.
    pub fn path(&self) -> String {
        // The label of the root at `/` ends in the separator.
        let label = Some(self.root.trim_end_matches('/')).filter(|_| !self.root.is_empty());
        let below = self.above.iter().chain([&self.name]).map(String::as_str);
        label.into_iter().chain(below).collect::<Vec<_>>().join("/")
    }

    /// Opens the parent directory without following links.
    pub fn open(&self, workspace: &Workspace<'_>) -> FsResult<OpenLocation> {
        let root = workspace.roots.iter().find(|root| root.label == self.root).ok_or(Fault::Gone)?;
        let dir = self.above.iter().try_fold(root.dir.clone(), |dir, name| workspace.fs.open_dir(&dir, name))?;
        Ok(OpenLocation { dir, name: self.name.clone() })
    }

    /// Returns whether the names are valid: the contents of a journal are not trusted.
    pub fn is_sound(&self) -> bool {
        self.above.iter().chain([&self.name]).all(|name| is_entry_name(name))
    }
}
