//! Removing: a mark hides what the base has, and what is above it goes.

use std::rc::Rc;

use super::OverlayFs;
use super::node::Node;
use crate::fs::spot::Site;
use crate::fs::{Fault, FsResult, Kind, tree};

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

    /// Hides what the base has of a directory of which all that shows is above, or nothing; whether there was any.
    pub(super) fn hide_dir(&self, node: &Node, name: &str) -> FsResult<bool> {
        let Some((base, _)) = self.behind(node, name)? else { return Ok(false) };
        self.mark(node, name, &self.record(&base, name)?)?;
        node.hide_base(name);
        Ok(true)
    }

    /// Removes a directory with all that it holds: the base's part by one mark, so that nothing has to be copied.
    pub(super) fn hide_tree(&self, node: &Rc<Node>, name: &str) -> FsResult<()> {
        let found = self.find(node, name)?;
        if found.stat.kind != Kind::Directory {
            return Err(Fault::NotDirectory);
        }
        let upper = found.is_upper.then(|| Site { dir: found.dir.clone(), name: name.to_owned() });
        let aside = self.draft()?;
        let marked = self.hide_dir(node, name)?;
        let moved = upper.as_ref().map_or(Ok(()), |upper| upper.rename(self.inner, &aside));
        if let Err(fault) = moved {
            if marked {
                self.unmark(node, name)?;
            }
            return Err(fault);
        }
        node.forget(name);
        // What cannot be removed now is nowhere to be seen, and the next change removes it.
        drop(tree::remove(self.inner, &aside));
        Ok(())
    }

    fn unmark(&self, node: &Node, name: &str) -> FsResult<()> {
        // Whoever has the directory open has lost sight of the base.
        node.forget(name);
        match node.marks().and_then(|marks| marks.at) {
            Some(at) => self.inner.unlink(&at, name),
            None => Ok(()),
        }
    }
}
