//! Directory for temporary files of the commands of a workspace: a home for each command, and the contents before
//! changes if there is no state directory.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::mount::{self, Mount};
use crate::temporary::Temporary;

/// A directory that no tool opens, even if a root such as `/` contains it: the workspace closes it by its device and
/// inode.
#[derive(Default)]
pub(crate) struct Scratch(Mutex<Option<Arc<Temporary>>>);

impl Scratch {
    pub(super) fn new(roots: &[Mount]) -> Self {
        Self(Mutex::new(Temporary::outside(roots).ok().map(Arc::new)))
    }

    /// Returns the path, which the workspace closes to tools.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.as_ref().map(|now| now.directory().path().to_owned())
    }

    /// Creates a new directory in it. If the directory itself was deleted, for example by a cleaner of temporary files,
    /// creates it again outside every root.
    pub(super) fn make(&self, roots: &[Mount]) -> io::Result<Temporary> {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = now.as_ref().filter(|held| !held.directory().is_deleted()) {
            return Temporary::inside(held);
        }
        let temporary = Temporary::outside(roots).ok().filter(|temporary| !mount::hold(roots, temporary.directory()));
        let temporary = temporary.ok_or_else(|| io::Error::other("there is no directory for temporary files"))?;
        Temporary::inside(now.insert(Arc::new(temporary)))
    }
}
