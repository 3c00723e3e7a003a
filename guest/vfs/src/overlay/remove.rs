//! Removing: a mark hides what the base has, and what is above it goes.

use std::rc::Rc;

use paddock_types::entry::Kind;

use crate::overlay::OverlayFs;
use crate::overlay::node::Node;
use crate::{Fault, FsResult, copy_remove};

impl OverlayFs<'_> {
    pub(super) fn unlink_merged(&self, node: &Rc<Node>, name: &str) -> FsResult<()> {
        let found = self.find(node, name)?;
        if found.stat.kind == Kind::Directory {
            return Err(Fault::IsDirectory);
        }
        if let Some((base, _)) = self.behind(node, name)? {
            // Behind an upper entry nobody sees it; without one, the name goes with it.
            self.mark(node, name, &self.remember(node, name, &base)?)?;
        }
        if found.is_upper { self.inner.unlink(&found.dir, name) } else { Ok(()) }
    }

    pub(super) fn remove_merged(&self, node: &Rc<Node>, name: &str) -> FsResult<()> {
        let found = self.find(node, name)?;
        if found.stat.kind != Kind::Directory {
            return Err(Fault::NotDirectory);
        }
        if !self.is_empty(&*self.open_below(node, name)?)? {
            return Err(Fault::NotEmpty);
        }
        self.hide_dir(node, name)?;
        if found.is_upper {
            self.inner.remove_dir(&found.dir, name)?;
        }
        node.forget(name);
        Ok(())
    }

    /// Hides what the base has under the name of a directory.
    pub(super) fn hide_dir(&self, node: &Node, name: &str) -> FsResult<()> {
        let Some((base, _)) = self.behind(node, name)? else { return Ok(()) };
        self.mark(node, name, &self.record(&base, name)?)?;
        node.hide_base(name);
        Ok(())
    }

    /// Removes a directory with all that it holds, where that takes one step: the base's by a mark, and one that is above
    /// alone by a rename.
    pub(super) fn hide_tree(&self, node: &Rc<Node>, name: &str) -> FsResult<()> {
        let found = self.find(node, name)?;
        if found.stat.kind != Kind::Directory {
            return Err(Fault::NotDirectory);
        }
        match (found.is_upper, self.behind(node, name)?.is_some()) {
            (true, true) => return Err(Fault::Unsupported),
            (true, false) => {
                let aside = self.draft()?;
                self.inner.rename(&found.dir, name, &aside.dir, &aside.name)?;
                // What cannot be removed now is nowhere to be seen, and the next change removes it.
                drop(copy_remove::remove(self.inner, &aside));
            }
            (false, _) => self.hide_dir(node, name)?,
        }
        node.forget(name);
        Ok(())
    }
}
