//! Directories that are created when they are needed, below a directory that is held open.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Directory, Walk, found};

/// A directory that is created when it is needed, below a directory that is held open.
#[derive(Clone, Debug)]
pub(crate) struct Deferred(Arc<Awaited>);

#[derive(Debug)]
struct Awaited {
    above: Directory,
    names: Vec<OsString>,
    opened: Mutex<Option<Directory>>,
}

impl Deferred {
    /// Creates the value for the directory at a path, which may not exist yet. Fails if the path leads to another kind
    /// of file.
    pub(crate) fn new(walk: Walk) -> io::Result<Self> {
        let Walk { directory, missing: names, file, .. } = walk;
        if file.is_some() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        // The parent of an existing directory is held too, so that the directory can be created again after a deletion.
        let parent = Some(()).filter(|()| names.is_empty()).and_then(|()| directory.parent());
        Ok(match parent {
            Some((above, name)) => Self::with(above, vec![name], Some(directory)),
            None if names.is_empty() => Self::with(directory.clone(), names, Some(directory)),
            None => Self::with(directory, names, None),
        })
    }

    fn with(above: Directory, names: Vec<OsString>, opened: Option<Directory>) -> Self {
        Self(Arc::new(Awaited { above, names, opened: Mutex::new(opened) }))
    }

    /// Returns the directory at these names below this one.
    pub(crate) fn below(&self, names: &[&str]) -> Self {
        let names = self.0.names.iter().cloned().chain(names.iter().map(OsString::from)).collect();
        Self::with(self.0.above.clone(), names, None)
    }

    /// Returns the directory beside this one whose name has this suffix; `None` for the root directory.
    #[cfg(feature = "snapshots")]
    pub(crate) fn beside(&self, suffix: &str) -> Option<Self> {
        let (last, names) = self.0.names.split_last()?;
        let name = [last.as_os_str(), suffix.as_ref()].into_iter().collect();
        Some(Self::with(self.0.above.clone(), names.iter().cloned().chain([name]).collect(), None))
    }

    /// Returns the path for display.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.names.iter().fold(self.0.above.path().to_owned(), |path, name| path.join(name))
    }

    /// Returns the directory, or `None` if no directory has its name. Fails if it cannot be opened.
    pub(crate) fn get(&self) -> io::Result<Option<Directory>> {
        found(self.reach(|above, name| above.subdirectory(name)))
    }

    /// Returns the directory, and creates it with rights for its owner only if it does not exist.
    pub(crate) fn create(&self) -> io::Result<Directory> {
        self.reach(|above, name| above.create_subdirectory(name))
    }

    /// Returns the held directory. If it was deleted, opens the directory of the same name below its parent.
    fn reach(&self, open: impl Fn(&Directory, &OsString) -> io::Result<Directory>) -> io::Result<Directory> {
        let mut opened = self.0.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = opened.as_ref().filter(|held| !held.is_deleted()) {
            return Ok(held.clone());
        }
        let above = self.0.above.clone();
        let directory = self.0.names.iter().try_fold(above, |above, name| open(&above, name))?;
        Ok(opened.insert(directory).clone())
    }
}
