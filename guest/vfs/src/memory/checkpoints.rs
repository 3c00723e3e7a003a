//! Trees that were kept under a name. A file's bytes are shared until somebody
//! writes, so a checkpoint costs its names, and what changes after it.

use paddock_types::error::{Code, Error, Result};

use crate::checkpoint::check_name;
use crate::memory::{Inode, MemoryFs};

/// Checkpoints that there may be.
const MAX_CHECKPOINTS: usize = 100;

impl MemoryFs {
    /// Keeps the tree of the workspace as it is.
    pub fn checkpoint(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let mut checkpoints = self.checkpoints.borrow_mut();
        if checkpoints.contains_key(name) {
            let error = Error::new(Code::AlreadyExists, format!("there is a checkpoint `{name}` already"));
            return Err(error.hint("name another; `checkpoints` tells all"));
        }
        if checkpoints.len() == MAX_CHECKPOINTS {
            let message = format!("there are {MAX_CHECKPOINTS} checkpoints, which is the most");
            return Err(Error::new(Code::LimitExceeded, message).hint("roll back to one of them"));
        }
        if let Some((_, top)) = self.preopens.first() {
            checkpoints.insert(name.to_owned(), Inode::deep_clone(top));
        }
        Ok(())
    }

    /// Makes the tree what it was at a checkpoint.
    pub fn rollback(&self, name: &str) -> Result<()> {
        let checkpoints = self.checkpoints.borrow();
        let (Some(kept), Some((_, top))) = (checkpoints.get(name), self.preopens.first()) else {
            let error = Error::new(
                Code::NotFound,
                format!("there is no checkpoint `{}`", paddock_types::error::printable(name)),
            );
            return Err(error.hint("`checkpoints` tells all"));
        };
        top.content.swap(&Inode::deep_clone(kept).content);
        self.quota.forget();
        Ok(())
    }

    /// The names of all checkpoints, in order.
    pub fn checkpoints(&self) -> Vec<String> {
        self.checkpoints.borrow().keys().cloned().collect()
    }
}
