//! Where the commands of one workspace have what is temporary: each a home of its own, and the contents before a change
//! where no state directory takes them.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::mount::{self, Mount};
use crate::temporary::Temporary;

/// A directory that no tool opens, even where a root holds every directory for temporary files, as `/` does: the
/// workspace closes it by what it is, so there is no other one then.
#[derive(Default)]
pub(crate) struct Scratch(Mutex<Option<Arc<Temporary>>>);

impl Scratch {
    pub(super) fn new(roots: &[Mount]) -> Self {
        Self(Mutex::new(Temporary::outside(roots).ok().map(Arc::new)))
    }

    /// Its path, for what is closed to tools.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.as_ref().map(|now| now.directory().path().to_owned())
    }

    /// A new directory in it. Where somebody deleted it, as cleaners of temporary files do, it is made anew outside every
    /// root.
    pub(super) fn make(&self, roots: &[Mount]) -> io::Result<Temporary> {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = now.as_ref().filter(|held| !held.directory().is_deleted()) {
            return Temporary::inside(held);
        }
        let made = Temporary::outside(roots).ok().filter(|made| !mount::hold(roots, made.directory()));
        let made = made.ok_or_else(|| io::Error::other("there is no directory for temporary files"))?;
        Temporary::inside(now.insert(Arc::new(made)))
    }
}
