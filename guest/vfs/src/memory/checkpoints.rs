//! Named copies of the trees. The bytes of a file are shared until it is written, so a checkpoint costs the memory of
//! its names and of later changes.

use std::rc::Rc;

use paddock_types::error::{Code, Error, Result};

use crate::checkpoint::check_name;
use crate::memory::{Inode, MemoryContent, MemoryFs, Node};

/// Maximum number of checkpoints.
const MAX_CHECKPOINTS: usize = 100;

impl MemoryFs {
    /// Stores the present tree of the workspace under a name.
    pub fn checkpoint(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let mut checkpoints = self.checkpoints.borrow_mut();
        if checkpoints.contains_key(name) {
            let error = Error::new(Code::AlreadyExists, format!("there is a checkpoint `{name}` already"));
            return Err(error.hint("name another; `checkpoints` lists all"));
        }
        if checkpoints.len() == MAX_CHECKPOINTS {
            let message = format!("there are {MAX_CHECKPOINTS} checkpoints, the maximum");
            return Err(Error::new(Code::LimitExceeded, message).hint("roll back to one of them"));
        }
        if let Some((_, top)) = self.preopens.first() {
            checkpoints.insert(name.to_owned(), Inode::deep_clone(top));
        }
        Ok(())
    }

    /// Restores the trees of a checkpoint.
    pub fn rollback(&self, name: &str) -> Result<()> {
        let checkpoints = self.checkpoints.borrow();
        let (Some(saved), Some((_, top))) = (checkpoints.get(name), self.preopens.first()) else {
            let error = Error::new(
                Code::NotFound,
                format!("there is no checkpoint `{}`", paddock_types::error::printable(name)),
            );
            return Err(error.hint("`checkpoints` lists all"));
        };
        top.content.swap(&Inode::deep_clone(saved).content);
        self.quota.forget();
        Ok(())
    }

    /// Returns the names of all checkpoints, in order.
    pub fn checkpoints(&self) -> Vec<String> {
        self.checkpoints.borrow().keys().cloned().collect()
    }
}

impl Inode {
    pub(super) fn deep_clone(node: &Node) -> Node {
        let content = match &*node.content.borrow() {
            MemoryContent::File(bytes) => MemoryContent::File(Rc::clone(bytes)),
            MemoryContent::Directory(entries) => MemoryContent::Directory(
                entries.iter().map(|(name, node)| (name.clone(), Self::deep_clone(node))).collect(),
            ),
            MemoryContent::Link(target) => MemoryContent::Link(target.clone()),
        };
        let copy = Self::new(content, node.modified.get(), node.is_counted.get());
        copy.mode.set(node.mode.get());
        copy
    }
}
