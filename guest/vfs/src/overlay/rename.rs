//! Renames and links. The entry is first copied to the upper layer, and its old name gets a whiteout, so that the only
//! visible step is a rename in the upper layer.

use std::rc::Rc;

use paddock_types::entry::Kind;

use crate::open_location::OpenLocation;
use crate::overlay::OverlayFs;
use crate::overlay::lookup::LayerEntry;
use crate::overlay::node::Node;
use crate::{Fault, FsResult};

impl OverlayFs<'_> {
    pub(super) fn link_merged(&self, from: &Rc<Node>, name: &str, into: &Rc<Node>, to: &str) -> FsResult<()> {
        let layer_entry = self.find(from, name)?;
        if layer_entry.stat.kind == Kind::Directory {
            return Err(Fault::Access);
        }
        let target = self.prepare_parent(into, to)?;
        self.take_up(from, name, &layer_entry)?;
        self.inner.link(&self.make_upper(from)?, name, &target, to)
    }

    pub(super) fn rename_merged(&self, from: &Rc<Node>, name: &str, into: &Rc<Node>, to: &str) -> FsResult<()> {
        let layer_entry = self.find(from, name)?;
        if Rc::ptr_eq(from, into) && name == to {
            return Ok(());
        }
        let there = self.find_any(into, to)?;
        let is_dir = layer_entry.stat.kind == Kind::Directory;
        if let Some(there) = &there {
            match (is_dir, there.stat.kind == Kind::Directory) {
                (true, true) if !self.is_empty(&*self.open_below(into, to)?)? => return Err(Fault::NotEmpty),
                (true, false) => return Err(Fault::NotDirectory),
                (false, true) => return Err(Fault::IsDirectory),
                (true, true) | (false, false) => {}
            }
        }
        match is_dir {
            true => self.rename_dir((from, name), (into, to), there.as_ref()),
            false => self.rename_file((from, name, &layer_entry), (into, to)),
        }
    }

    fn rename_dir(
        &self,
        (from, name): (&Rc<Node>, &str),
        (into, to): (&Rc<Node>, &str),
        there: Option<&LayerEntry>,
    ) -> FsResult<()> {
        if into.is_within(from, name) {
            return Err(Fault::Io("a directory cannot be moved into itself".to_owned()));
        }
        let upper = self.make_upper(into)?;
        let source = self.open_below(from, name)?;
        // Recorded before the copy, so that a change of the base in between is a conflict.
        let was = self.remember_dir(from, name)?;
        if source.base().is_some() {
            self.fill(&source)?;
        }
        // Either name may hide an entry of the base, which must stay hidden.
        self.hide_dir_as(from, name, was)?;
        if there.is_some() {
            let was = self.remember_dir(into, to)?;
            self.make_upper(&*self.open_below(into, to)?)?;
            self.hide_dir_as(into, to, was)?;
        }
        // Windows renames no directory that is open.
        drop(source);
        self.inner.rename(&self.make_upper(from)?, name, &upper, to)?;
        self.show_later(from, name);
        from.moved(name, into, to);
        Ok(())
    }

    fn rename_file(
        &self,
        (from, name, layer_entry): (&Rc<Node>, &str, &LayerEntry),
        (into, to): (&Rc<Node>, &str),
    ) -> FsResult<()> {
        let upper = self.make_upper(into)?;
        self.take_up(from, name, layer_entry)?;
        let source = OpenLocation { dir: self.make_upper(from)?, name: name.to_owned() };
        let target = OpenLocation { dir: upper, name: to.to_owned() };
        let Some((base, kind)) = self.behind(into, to)? else {
            source.rename(self.inner, &target)?;
            self.show_later(from, name);
            return Ok(());
        };
        let was = self.remember(into, to, &base)?;
        if kind == Kind::File && layer_entry.stat.kind == Kind::File && self.inner.stat(&target.dir, to).is_err() {
            self.lend_mode(&source, &OpenLocation { dir: base, name: to.to_owned() });
        }
        source.rename(self.inner, &target)?;
        // The whiteout is created after the rename; otherwise neither the old nor the new entry would exist for a
        // moment.
        self.show_later(from, name);
        self.add_whiteout(into, to, was.as_ref())
    }
}
