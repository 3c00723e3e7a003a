//! Looking through both layers.

use std::collections::HashSet;
use std::rc::Rc;

use paddock_types::entry::Kind;

use crate::overlay::OverlayFs;
use crate::overlay::node::Node;
use crate::{Dir, Fault, File, FsResult, Listing, Open, Stat};

/// An entry that exists in the overlay.
pub(super) struct LayerEntry {
    pub(super) stat: Stat,
    /// The directory of the layer that contains the entry.
    pub(super) dir: Dir,
    pub(super) is_upper: bool,
}

impl OverlayFs<'_> {
    /// Finds the entry `name` and its layer.
    pub(super) fn find(&self, node: &Node, name: &str) -> FsResult<LayerEntry> {
        if let Some(dir) = node.upper() {
            match self.inner.stat(&dir, name) {
                Ok(stat) => return Ok(LayerEntry { stat, dir, is_upper: true }),
                Err(Fault::NotFound) => {}
                Err(fault) => return Err(fault),
            }
        }
        let dir = self.visible_base(node, name)?.ok_or(Fault::NotFound)?;
        Ok(LayerEntry { stat: self.inner.stat(&dir, name)?, dir, is_upper: false })
    }

    /// Finds an entry; `None` if the name does not exist.
    pub(super) fn find_any(&self, node: &Node, name: &str) -> FsResult<Option<LayerEntry>> {
        match self.find(node, name) {
            Err(Fault::NotFound) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Returns the base's directory if no whiteout hides `name` in it.
    fn visible_base(&self, node: &Node, name: &str) -> FsResult<Option<Dir>> {
        let Some(base) = node.base() else { return Ok(None) };
        Ok(if self.is_hidden_by_whiteout(node, name)? { None } else { Some(base) })
    }

    /// Returns the entry of the base under `name` if no whiteout hides it, even behind an upper entry.
    pub(super) fn behind(&self, node: &Node, name: &str) -> FsResult<Option<(Dir, Kind)>> {
        let Some(base) = self.visible_base(node, name)? else { return Ok(None) };
        match self.inner.stat(&base, name) {
            Ok(stat) => Ok(Some((base, stat.kind))),
            Err(Fault::NotFound) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    pub(super) fn open_below(&self, node: &Rc<Node>, name: &str) -> FsResult<Rc<Node>> {
        if let Some(open) = node.opened(name) {
            return Ok(open);
        }
        let upper = node.upper().map_or(Ok(None), |upper| self.open_if_there(&upper, name))?;
        let base = match self.visible_base(node, name)? {
            None => None,
            Some(base) => match self.inner.open_dir(&base, name) {
                Ok(dir) => Some(dir),
                // A directory of the upper layer hides a base entry that is not a directory.
                Err(Fault::NotFound | Fault::NotDirectory | Fault::Link) if upper.is_some() => None,
                Err(fault) => return Err(fault),
            },
        };
        if upper.is_none() && base.is_none() {
            return Err(Fault::NotFound);
        }
        let whiteouts = match base {
            Some(_) => self.whiteouts_below(node.whiteouts().as_ref(), name)?,
            None => None,
        };
        Ok(node.open(name, base, upper, whiteouts))
    }

    pub(super) fn open_to_read(&self, node: &Node, name: &str) -> FsResult<File> {
        // A walk lists a directory and then opens all of its files, so the listing saves a lookup in the upper layer.
        if let Some(base) = node.base().filter(|_| node.is_base_only(self.changed.get(), name)) {
            return self.inner.open_file(&base, name, Open::Read);
        }
        if let Some(upper) = node.upper() {
            match self.inner.open_file(&upper, name, Open::Read) {
                Err(Fault::NotFound) => {}
                other => return other,
            }
        }
        let base = self.visible_base(node, name)?.ok_or(Fault::NotFound)?;
        self.inner.open_file(&base, name, Open::Read)
    }

    /// Lists the entries of both layers, each name once.
    pub(super) fn list_merged(&self, node: &Node) -> FsResult<Listing> {
        let (upper, base) = (node.upper(), node.base());
        let below = base.map(|base| self.inner.list(&base)).transpose()?;
        let above = upper.map(|upper| self.inner.list(&upper)).transpose()?;
        let whiteouts =
            node.whiteouts().and_then(|whiteouts| whiteouts.at).map(|at| self.inner.list(&at)).transpose()?;
        if whiteouts.as_ref().is_some_and(|whiteouts| whiteouts.unreadable + whiteouts.unnamed > 0) {
            return Err(Fault::Io("the overlay is damaged: its whiteouts cannot be listed".to_owned()));
        }
        let Some(mut listing) = below else { return Ok(above.unwrap_or_default()) };
        let above = above.unwrap_or_default();
        let hidden = whiteouts.iter().flat_map(|whiteouts| &whiteouts.entries).chain(&above.entries);
        let hidden: HashSet<&str> = hidden.map(|entry| entry.name.as_str()).collect();
        if !hidden.is_empty() {
            listing.entries.retain(|entry| !hidden.contains(entry.name.as_str()));
        }
        node.set_listed(self.changed.get(), hidden.into_iter().map(str::to_owned).collect());
        listing.entries.extend(above.entries.iter().cloned());
        listing.unnamed += above.unnamed;
        listing.unreadable += above.unreadable;
        Ok(listing)
    }

    pub(super) fn is_empty(&self, node: &Node) -> FsResult<bool> {
        let listing = self.list_merged(node)?;
        Ok(listing.entries.is_empty() && listing.unnamed + listing.unreadable == 0)
    }
}
