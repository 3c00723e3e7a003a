//! Directories that may have to be made, below one that is held.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Directory, Walk};

/// A directory of Paddock's own, which may have to be made first: below a directory that is held.
#[derive(Clone, Debug)]
pub(crate) struct Deferred(Arc<Awaited>);

#[derive(Debug)]
struct Awaited {
    above: Directory,
    names: Vec<OsString>,
    opened: Mutex<Option<Directory>>,
}

impl Deferred {
    /// The directory that a path leads to, or that is to be made there. Fails where that is no directory.
    pub(crate) fn new(walk: Walk) -> io::Result<Self> {
        let Walk { directory, missing: names, file, .. } = walk;
        if file.is_some() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        // One that is there is held by its parent too, so that it can be made again where somebody deletes it.
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

    /// The directory at these names below this one.
    pub(crate) fn below(&self, names: &[&str]) -> Self {
        let names = self.0.names.iter().cloned().chain(names.iter().map(OsString::from)).collect();
        Self::with(self.0.above.clone(), names, None)
    }

    /// Its path, whether it is there or not: for people.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.names.iter().fold(self.0.above.path().to_owned(), |path, name| path.join(name))
    }

    /// The directory, if it is there.
    pub(crate) fn get(&self) -> Option<Directory> {
        self.reach(|above, name| above.subdirectory(name)).ok()
    }

    /// The directory, made for its owner alone if need be.
    pub(crate) fn create(&self) -> io::Result<Directory> {
        self.reach(|above, name| above.create_subdirectory(name))
    }

    /// The directory that is held. Where it was deleted, the one that has its place now below the directory above.
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
