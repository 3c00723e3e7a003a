//! A copy-on-write view of the workspace: a base that is never changed, and an upper layer with the changes, in a
//! directory of the host.
//!
//! That directory contains, in its current generation of layers (`generation.rs`):
//!
//! - `upper/ROOT/…`: the current files, links and directories;
//! - `gone/ROOT/…`: whiteouts, each for a name of the base that is hidden, with its former state ([`whiteouts`]);
//! - `origin/ROOT/…`: the content of a file of the base when it was replaced, up to the policy's limit for whole files;
//!
//! and next to them:
//!
//! - `checkpoints/NAME/`: copies of the layers;
//! - `work/`: unfinished files only; a later change empties it;
//! - `state/`: the state directory of the calls made in the overlay.
//!
//! `ROOT` is the root's guest path ([`root_name`]). Whiteouts and contents are separate trees, so that no file name can
//! be confused with a whiteout.
//!
//! A name is looked up in the upper layer first; an entry of the base is visible only if no whiteout hides it.
//! Directories in both layers are merged, unless a whiteout hides the base's directory as a whole. Changes behind an
//! upper entry are invisible. Each change therefore consists of invisible preparations and one visible step, which is
//! as atomic as the file system's own operation: no recovery is needed.
//!
//! A handle to a file of the base keeps showing the old content after the file was copied to the upper layer; the file
//! must be opened again to see the change.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use paddock_types::entry::{Kind, Time};
use paddock_types::policy::{Policy, RootAccess};

use crate::{
    Dir, Fault, File, Filesystem, FsResult, Listing, OVERLAY_GUEST_PATH, Open, Preopen, STATE_GUEST_PATH, Stat,
};

mod changes;
mod copy_up;
mod generation;
mod locations;
mod lookup;
mod node;
mod remove;
mod rename;
#[cfg(test)]
mod tests;
pub mod whiteouts;

pub use crate::overlay::changes::{Difference, Is};
use crate::overlay::node::Node;

/// Names in the directory of an overlay.
const UPPER: &str = "upper";
const GONE: &str = "gone";
const ORIGIN: &str = "origin";
const WORK: &str = "work";

/// A base that is never changed, with an upper layer of changes.
pub struct OverlayFs<'f> {
    inner: &'f dyn Filesystem,
    /// Directory of the overlay; `None` if nothing was changed yet.
    top: Option<Dir>,
    preopens: Vec<Preopen>,
    /// Current generation of layers.
    generation: u64,
    /// Names of the roots in the overlay's directory, in the order of their indices in nodes.
    roots: Vec<String>,
    /// Maximum size of a base file whose content is stored in addition to its digest, in bytes.
    max_origin: u64,
    /// The host gives a temporary file the mode of a file that it refuses to replace.
    lends_modes: bool,
    work: RefCell<Option<Dir>>,
    /// Number of changes begun.
    changed: Cell<u64>,
}

impl<'f> OverlayFs<'f> {
    /// Opens the overlay over the preopened directories of `inner`, with its own directory at [`OVERLAY_GUEST_PATH`].
    /// Without that directory, nothing was changed yet and nothing can be changed. Roots without changes that the policy makes
    /// read-only are passed through from `inner`.
    pub fn open(inner: &'f dyn Filesystem, policy: &Policy) -> FsResult<Self> {
        let top = inner.preopens().into_iter().find(|preopen| preopen.guest_path == OVERLAY_GUEST_PATH);
        Self::open_at(inner, policy, top.map(|preopen| preopen.dir))
    }

    /// Opens the overlay with its own directory `top`.
    pub fn open_at(inner: &'f dyn Filesystem, policy: &Policy, top: Option<Dir>) -> FsResult<Self> {
        let preopens = inner.preopens();
        let mut overlay = Self {
            inner,
            generation: top.as_ref().map_or(Ok(0), |top| generation::current(inner, top))?,
            top,
            preopens: Vec::with_capacity(preopens.len()),
            roots: Vec::new(),
            max_origin: policy.limits.max_file_bytes,
            lends_modes: policy.host.lends_modes,
            work: RefCell::default(),
            changed: Cell::default(),
        };
        let upper = overlay.tree(UPPER)?;
        let gone = overlay.tree(GONE)?;
        for Preopen { guest_path, dir } in preopens {
            let is_fixed =
                policy.roots.iter().any(|root| root.guest == guest_path && root.access == RootAccess::ReadOnly);
            let dir = match guest_path.as_str() {
                OVERLAY_GUEST_PATH => continue,
                STATE_GUEST_PATH => dir,
                _ => overlay.root(&guest_path, dir, is_fixed, upper.as_ref(), gone.as_ref())?,
            };
            overlay.preopens.push(Preopen { guest_path, dir });
        }
        Ok(overlay)
    }

    fn root(
        &mut self,
        guest_path: &str,
        base: Dir,
        is_fixed: bool,
        upper: Option<&Dir>,
        gone: Option<&Dir>,
    ) -> FsResult<Dir> {
        let name = root_name(guest_path);
        let below = |tree: Option<&Dir>| tree.map_or(Ok(None), |tree| self.open_if_there(tree, &name));
        let (upper, gone) = (below(upper)?, below(gone)?);
        // A caller who may only read sees the changes of others.
        if is_fixed && upper.is_none() && gone.is_none() {
            return Ok(base);
        }
        let whiteouts = gone.map(|dir| self.open_whiteouts(&dir)).transpose()?;
        self.roots.push(name);
        Ok(Dir(Node::root(self.roots.len() - 1, base, upper, whiteouts)))
    }

    /// Returns one of the trees of the layers.
    fn tree(&self, name: &str) -> FsResult<Option<Dir>> {
        self.layers()?.map_or(Ok(None), |layers| self.open_if_there(&layers, name))
    }

    /// Invalidates the results of earlier listings.
    fn begin_change(&self) {
        self.changed.set(self.changed.get() + 1);
    }

    fn open_if_there(&self, dir: &Dir, name: &str) -> FsResult<Option<Dir>> {
        match self.inner.open_dir(dir, name) {
            Err(Fault::NotFound) => Ok(None),
            other => other.map(Some),
        }
    }
}

/// Returns the directory name of a root in the trees of an overlay: the guest path without its first `/`, with
/// characters that no name can contain as `%` and two hexadecimal digits.
pub fn root_name(guest_path: &str) -> String {
    let name = guest_path.strip_prefix('/').unwrap_or(guest_path);
    if matches!(name, "" | "." | "..") {
        return format!("%{name}");
    }
    name.replace('%', "%25").replace('/', "%2F")
}

/// Returns the node of a directory of the overlay; `None` for a directory of the inner file system.
fn node(dir: &Dir) -> Option<Rc<Node>> {
    dir.0.clone().downcast().ok()
}

impl Filesystem for OverlayFs<'_> {
    fn preopens(&self) -> Vec<Preopen> {
        self.preopens.clone()
    }

    fn open_dir(&self, dir: &Dir, name: &str) -> FsResult<Dir> {
        match node(dir) {
            Some(node) => self.open_below(&node, name).map(|node| Dir(node)),
            None => self.inner.open_dir(dir, name),
        }
    }

    fn open_file(&self, dir: &Dir, name: &str, mode: Open) -> FsResult<File> {
        let Some(node) = node(dir) else { return self.inner.open_file(dir, name, mode) };
        if mode != Open::Read {
            self.begin_change();
        }
        match mode {
            Open::Read => self.open_to_read(&node, name),
            Open::Write => {
                let layer_entry = self.find(&node, name)?;
                match layer_entry.stat.kind {
                    Kind::File => {}
                    Kind::Directory => return Err(Fault::IsDirectory),
                    Kind::Link => return Err(Fault::Link),
                    Kind::Other => return Err(Fault::NotRegular),
                }
                self.take_up(&node, name, &layer_entry)?;
                self.inner.open_file(&self.make_upper(&node)?, name, mode)
            }
            Open::CreateNew => self.inner.open_file(&self.prepare_parent(&node, name)?, name, mode),
        }
    }

    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        match node(dir) {
            Some(node) => self.list_merged(&node),
            None => self.inner.list(dir),
        }
    }

    fn stat(&self, dir: &Dir, name: &str) -> FsResult<Stat> {
        match node(dir) {
            Some(node) => self.find(&node, name).map(|layer_entry| layer_entry.stat),
            None => self.inner.stat(dir, name),
        }
    }

    fn stat_file(&self, file: &File) -> FsResult<Stat> {
        self.inner.stat_file(file)
    }

    fn stat_dir(&self, dir: &Dir) -> FsResult<Stat> {
        match node(dir) {
            Some(node) => self.inner.stat_dir(&node.highest()?),
            None => self.inner.stat_dir(dir),
        }
    }

    /// Compares the directories of the base, because a directory of the upper layer has no other name.
    fn is_same_dir(&self, dir: &Dir, other: &Dir) -> FsResult<bool> {
        let base = |dir: &Dir| node(dir).map_or_else(|| Some(dir.clone()), |node| node.base());
        match (base(dir), base(other)) {
            (Some(dir), Some(other)) => self.inner.is_same_dir(&dir, &other),
            _ => Ok(false),
        }
    }

    fn read_link(&self, dir: &Dir, name: &str) -> FsResult<String> {
        let Some(node) = node(dir) else { return self.inner.read_link(dir, name) };
        let layer_entry = self.find(&node, name)?;
        self.inner.read_link(&layer_entry.dir, name)
    }

    fn read(&self, file: &File, offset: u64, max: usize, into: &mut Vec<u8>) -> FsResult<usize> {
        self.inner.read(file, offset, max, into)
    }

    fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> FsResult<()> {
        self.inner.write(file, offset, bytes)
    }

    fn set_size(&self, file: &File, size: u64) -> FsResult<()> {
        self.inner.set_size(file, size)
    }

    fn sync_file(&self, file: &File) -> FsResult<()> {
        self.inner.sync_file(file)
    }

    fn sync_dir(&self, dir: &Dir) -> FsResult<()> {
        match node(dir).map(|node| node.upper()) {
            // Whiteouts are durable when they are created.
            Some(upper) => upper.map_or(Ok(()), |upper| self.inner.sync_dir(&upper)),
            None => self.inner.sync_dir(dir),
        }
    }

    fn make_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.begin_change();
        match node(dir) {
            Some(node) => self.inner.make_dir(&self.prepare_parent(&node, name)?, name),
            None => self.inner.make_dir(dir, name),
        }
    }

    fn link(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        self.begin_change();
        match (node(dir), node(to_dir)) {
            (Some(from), Some(into)) => self.link_merged(&from, name, &into, to),
            (None, None) => self.inner.link(dir, name, to_dir, to),
            _ => Err(Fault::CrossDevice),
        }
    }

    fn symlink(&self, dir: &Dir, name: &str, target: &str) -> FsResult<()> {
        self.begin_change();
        match node(dir) {
            Some(node) => self.inner.symlink(&self.prepare_parent(&node, name)?, name, target),
            None => self.inner.symlink(dir, name, target),
        }
    }

    fn rename(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        self.begin_change();
        match (node(dir), node(to_dir)) {
            (Some(from), Some(into)) => self.rename_merged(&from, name, &into, to),
            (None, None) => self.inner.rename(dir, name, to_dir, to),
            _ => Err(Fault::CrossDevice),
        }
    }

    fn unlink(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.begin_change();
        match node(dir) {
            Some(node) => self.unlink_merged(&node, name),
            None => self.inner.unlink(dir, name),
        }
    }

    fn remove_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.begin_change();
        match node(dir) {
            Some(node) => self.remove_merged(&node, name),
            None => self.inner.remove_dir(dir, name),
        }
    }

    fn remove_tree(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.begin_change();
        match node(dir) {
            Some(node) => self.hide_tree(&node, name),
            None => self.inner.remove_tree(dir, name),
        }
    }

    fn pin(&self, dir: &Dir, name: &str) -> FsResult<()> {
        let Some(node) = node(dir) else { return Ok(()) };
        let layer_entry = match self.find(&node, name) {
            Err(Fault::NotFound) => return Ok(()),
            found => found?,
        };
        if layer_entry.stat.kind != Kind::File {
            return Ok(());
        }
        self.begin_change();
        self.take_up(&node, name, &layer_entry)
    }

    fn mode(&self, dir: &Dir, name: &str) -> Option<u32> {
        match node(dir) {
            Some(node) => self.inner.mode(&self.find(&node, name).ok()?.dir, name),
            None => self.inner.mode(dir, name),
        }
    }

    fn set_mode(&self, dir: &Dir, name: &str, mode: u32) -> FsResult<()> {
        self.begin_change();
        let Some(node) = node(dir) else { return self.inner.set_mode(dir, name, mode) };
        let layer_entry = self.find(&node, name)?;
        if layer_entry.stat.kind == Kind::File {
            self.take_up(&node, name, &layer_entry)?;
        }
        match self.inner.set_mode(&self.make_upper(&node)?, name, mode) {
            // A directory that is only in the base keeps its own bits.
            Err(Fault::NotFound) => Ok(()),
            other => other,
        }
    }

    fn random(&self) -> u64 {
        self.inner.random()
    }

    fn clock_ms(&self) -> u64 {
        self.inner.clock_ms()
    }

    fn now(&self) -> Time {
        self.inner.now()
    }
}
