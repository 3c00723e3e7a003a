//! Names that outlive a call: where a change is, as the journal keeps it, and as
//! an open directory and a name while it is made.

use paddock_types::path::is_entry_name;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::{Fault, FsResult};
use serde::{Deserialize, Serialize};

use crate::Workspace;
use crate::resolved_path::ResolvedPath;

/// A name below a root, in a form that a later call can find again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredLocation {
    /// The root's label.
    pub root: String,
    /// The directories from the root to the name.
    pub above: Vec<String>,
    /// The name.
    pub name: String,
}

impl StoredLocation {
    /// The spot of a place that is not a root.
    pub fn of(workspace: &Workspace<'_>, resolved: &ResolvedPath) -> Self {
        let root = workspace.roots.get(resolved.root).map(|root| root.label.clone()).unwrap_or_default();
        let above = resolved.ancestors.iter().map(|(name, _)| name).chain(&resolved.missing).cloned().collect();
        Self { root, above, name: resolved.name.clone() }
    }

    /// The name `name` in the same directory.
    pub fn sibling(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// The directory that it is in; none where that is the root.
    pub fn parent(&self) -> Option<Self> {
        let (name, above) = self.above.split_last()?;
        Some(Self { root: self.root.clone(), above: above.to_vec(), name: name.clone() })
    }

    /// The path as results show it.
    pub fn path(&self) -> String {
        // The root at `/` has nothing before its first slash.
        let label = Some(self.root.trim_end_matches('/')).filter(|_| !self.root.is_empty());
        let below = self.above.iter().chain([&self.name]).map(String::as_str);
        label.into_iter().chain(below).collect::<Vec<_>>().join("/")
    }

    /// Opens the directory that the spot is in, through no link.
    pub fn open(&self, workspace: &Workspace<'_>) -> FsResult<OpenLocation> {
        let root = workspace.roots.iter().find(|root| root.label == self.root).ok_or(Fault::Gone)?;
        let dir = self.above.iter().try_fold(root.dir.clone(), |dir, name| workspace.fs.open_dir(&dir, name))?;
        Ok(OpenLocation { dir, name: self.name.clone() })
    }

    /// Whether it can be a spot at all: what comes from a journal may have been written by anyone.
    pub fn is_sound(&self) -> bool {
        self.above.iter().chain([&self.name]).all(|name| is_entry_name(name))
    }
}
