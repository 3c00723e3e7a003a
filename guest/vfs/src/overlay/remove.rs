//! Removal: a whiteout hides the base's entry, and the upper entry is removed.

use std::rc::Rc;

use paddock_types::entry::Kind;

use crate::open_location::OpenLocation;
use crate::overlay::OverlayFs;
use crate::overlay::node::Node;
use crate::overlay::whiteouts::BaseEntry;
use crate::{Fault, FsResult, copy_remove};

impl OverlayFs<'_> {
    pub(super) fn unlink_merged(&self, node: &Rc<Node>, name: &str) -> FsResult<()> {
        let layer_entry = self.find(node, name)?;
        if layer_entry.stat.kind == Kind::Directory {
            return Err(Fault::IsDirectory);
        }
        if let Some((base, _)) = self.behind(node, name)?
            && let Some(was) = self.remember(node, name, &base)?
        {
            // Behind an upper entry the whiteout is invisible; without one, it removes the name.
            self.add_whiteout(node, name, Some(&was))?;
        }
        if layer_entry.is_upper {
            self.inner.unlink(&layer_entry.dir, name)?;
        }
        self.show_later(node, name);
        Ok(())
    }

    /// Shows the entry of the base under a name of which the overlay no longer has an entry, if another process created it
    /// later than the overlay its own. After a failure, which is ignored, it stays hidden.
    pub(super) fn show_later(&self, node: &Node, name: &str) {
        if let Some(at) = node.whiteouts().and_then(|whiteouts| whiteouts.at)
            && self.read_whiteout(&at, name) == Ok(None)
        {
            drop(OpenLocation { dir: at, name: name.to_owned() }.discard(self.inner));
        }
    }

    pub(super) fn remove_merged(&self, node: &Rc<Node>, name: &str) -> FsResult<()> {
        let layer_entry = self.find(node, name)?;
        if layer_entry.stat.kind != Kind::Directory {
            return Err(Fault::NotDirectory);
        }
        if !self.is_empty(&*self.open_below(node, name)?)? {
            return Err(Fault::NotEmpty);
        }
        self.hide_dir(node, name)?;
        if layer_entry.is_upper {
            self.inner.remove_dir(&layer_entry.dir, name)?;
        }
        self.show_later(node, name);
        node.forget(name);
        Ok(())
    }

    /// Hides the base's entry under the name of a directory.
    fn hide_dir(&self, node: &Rc<Node>, name: &str) -> FsResult<()> {
        let was = self.remember_dir(node, name)?;
        self.hide_dir_as(node, name, was)
    }

    /// Hides the base's entry under the name of a directory, with the state that [`Self::remember_dir`] returned.
    pub(super) fn hide_dir_as(&self, node: &Node, name: &str, was: Option<BaseEntry>) -> FsResult<()> {
        if self.behind(node, name)?.is_some() {
            self.add_whiteout(node, name, was.as_ref())?;
            node.hide_base(name);
        }
        Ok(())
    }

    /// Removes a directory with all its entries if one step suffices: a whiteout for a directory of the base, a rename
    /// for a directory that is only in the upper layer.
    pub(super) fn hide_tree(&self, node: &Rc<Node>, name: &str) -> FsResult<()> {
        let layer_entry = self.find(node, name)?;
        if layer_entry.stat.kind != Kind::Directory {
            return Err(Fault::NotDirectory);
        }
        match (layer_entry.is_upper, self.behind(node, name)?.is_some()) {
            (true, true) => return Err(Fault::Unsupported),
            (true, false) => {
                let aside = self.draft()?;
                self.inner.rename(&layer_entry.dir, name, &aside.dir, &aside.name)?;
                // A failure is ignored: the temporary directory is invisible, and the next change deletes it.
                drop(copy_remove::remove(self.inner, &aside));
            }
            (false, _) => self.hide_dir(node, name)?,
        }
        self.show_later(node, name);
        node.forget(name);
        Ok(())
    }
}
