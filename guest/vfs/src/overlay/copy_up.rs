//! Copies entries of the base to the upper layer before their first change. The copy is invisible, because it equals
//! the hidden entry.

use std::rc::Rc;

use paddock_types::entry::Kind;

use crate::bytes::{copy_bytes, digest};
use crate::open_location::{OpenLocation, temporary_name};
use crate::overlay::changes::is_same;
use crate::overlay::lookup::LayerEntry;
use crate::overlay::node::Node;
use crate::overlay::whiteouts::BaseEntry;
use crate::overlay::{ORIGIN, OverlayFs, UPPER, WORK};
use crate::{Dir, Fault, FsResult, Open, copy_remove};

impl OverlayFs<'_> {
    /// Returns the upper directory of `node`, created if it does not exist.
    pub(super) fn make_upper(&self, node: &Node) -> FsResult<Dir> {
        if let Some(upper) = node.upper() {
            return Ok(upper);
        }
        if node.is_removed() {
            return Err(Fault::NotFound);
        }
        let mut missing = Vec::new();
        let mut next = node.way();
        let mut dir = loop {
            match next {
                None => {
                    break self
                        .make_way(&self.make_layers()?, [UPPER, self.roots.get(node.root).ok_or(Fault::Gone)?])?;
                }
                Some((above, name)) => {
                    let upper = above.upper();
                    next = above.way();
                    missing.push((above, name));
                    if let Some(upper) = upper {
                        break upper;
                    }
                }
            }
        };
        while let Some((above, name)) = missing.pop() {
            above.set_upper(dir.clone());
            dir = self.make_way(&dir, [name.as_str()])?;
        }
        node.set_upper(dir.clone());
        Ok(dir)
    }

    /// Returns the directory at these names, creating missing directories.
    pub(super) fn make_way<'n>(&self, top: &Dir, names: impl IntoIterator<Item = &'n str>) -> FsResult<Dir> {
        names.into_iter().try_fold(top.clone(), |dir, name| match self.inner.open_dir(&dir, name) {
            Err(Fault::NotFound) => {
                self.inner.make_dir(&dir, name)?;
                self.inner.sync_dir(&dir)?;
                self.inner.open_dir(&dir, name)
            }
            other => other,
        })
    }

    /// Returns the upper directory for a new entry. Fails if the name exists.
    pub(super) fn prepare_parent(&self, node: &Node, name: &str) -> FsResult<Dir> {
        match self.find_any(node, name)? {
            Some(_) => Err(Fault::Exists),
            None => self.make_upper(node),
        }
    }

    /// Returns a location in the directory for unfinished files, from which the remains of a crash are removed.
    pub(super) fn draft(&self) -> FsResult<OpenLocation> {
        let mut work = self.work.borrow_mut();
        let dir = match &*work {
            Some(dir) => dir.clone(),
            None => {
                let dir = self.make_way(self.top.as_ref().ok_or(Fault::ReadOnly)?, [WORK])?;
                for entry in self.inner.list(&dir)?.entries {
                    copy_remove::remove(self.inner, &OpenLocation { dir: dir.clone(), name: entry.name })?;
                }
                work.insert(dir).clone()
            }
        };
        Ok(OpenLocation { dir, name: temporary_name(self.inner) })
    }

    /// Ensures that a file or link is in the upper layer and that its former state is recorded by a whiteout.
    pub(super) fn take_up(&self, node: &Node, name: &str, layer_entry: &LayerEntry) -> FsResult<()> {
        let was = match layer_entry.is_upper {
            false => Some(self.copy_up(node, name, layer_entry, true)?),
            true => match self.behind(node, name)? {
                Some((base, _)) => self.remember(node, name, &base)?,
                None => return Ok(()),
            },
        };
        self.add_whiteout(node, name, was.as_ref())
    }

    /// Copies a file or link of the base to the upper layer and returns its former state.
    fn copy_up(&self, node: &Node, name: &str, layer_entry: &LayerEntry, keep: bool) -> FsResult<BaseEntry> {
        let location = |dir: Dir| OpenLocation { dir, name: name.to_owned() };
        match layer_entry.stat.kind {
            Kind::File => {
                let draft = self.draft()?;
                let copied = self.copy_file(&location(layer_entry.dir.clone()), &draft, node, keep).and_then(|was| {
                    let upper = self.make_upper(node)?;
                    draft.rename(self.inner, &location(upper.clone()))?;
                    self.inner.sync_dir(&upper)?;
                    Ok(was)
                });
                copied.inspect_err(|_| drop(draft.discard(self.inner)))
            }
            Kind::Link => {
                let target = self.inner.read_link(&layer_entry.dir, name)?;
                let upper = self.make_upper(node)?;
                self.inner.symlink(&upper, name, &target)?;
                self.inner.sync_dir(&upper)?;
                Ok(BaseEntry::Link { target: Some(target), changed: None })
            }
            Kind::Directory | Kind::Other => Err(Fault::Unsupported),
        }
    }

    fn copy_file(&self, from: &OpenLocation, draft: &OpenLocation, node: &Node, keep: bool) -> FsResult<BaseEntry> {
        let fs = self.inner;
        let source = fs.open_file(&from.dir, &from.name, Open::Read)?;
        let target = fs.open_file(&draft.dir, &draft.name, Open::CreateNew)?;
        let size = copy_bytes(fs, &source, &target)?;
        fs.sync_file(&target)?;
        let sha256 = if keep { Some(digest(fs, &target)?) } else { None };
        if keep {
            self.keep_origin(node, draft, &from.name, size)?;
        }
        self.lend_mode(draft, from);
        Ok(BaseEntry::File { size, sha256 })
    }

    /// Gives the temporary file `to` the mode of a file of the base. WASI has no way to ask for it except a rename. The
    /// host transfers the mode, and then refuses the rename because the base is read-only.
    pub(super) fn lend_mode(&self, to: &OpenLocation, from: &OpenLocation) {
        if self.lends_modes {
            drop(to.rename(self.inner, from));
        }
    }

    /// Stores the content of a base file, taken from `copy`, in `origin/`. Behind a whiteout, an existing content stays,
    /// because it is that of the first hidden state.
    fn keep_origin(&self, node: &Node, copy: &OpenLocation, name: &str, size: u64) -> FsResult<()> {
        if size > self.max_origin {
            return Ok(());
        }
        let fs = self.inner;
        let layers = self.make_layers()?;
        let path = node.path();
        let root = self.roots.get(node.root).ok_or(Fault::Gone)?;
        let dir = match self.make_way(&layers, [ORIGIN, root].into_iter().chain(path.iter().map(String::as_str))) {
            Ok(dir) => dir,
            // The base's file has since become a directory: only the digest is kept.
            Err(Fault::NotDirectory) => return Ok(()),
            Err(fault) => return Err(fault),
        };
        if fs.stat(&dir, name).is_ok() && self.is_hidden_by_whiteout(node, name)? {
            return Ok(());
        }
        let draft = self.draft()?;
        let put = || {
            let source = fs.open_file(&copy.dir, &copy.name, Open::Read)?;
            let target = fs.open_file(&draft.dir, &draft.name, Open::CreateNew)?;
            copy_bytes(fs, &source, &target)?;
            fs.sync_file(&target)?;
            draft.rename(fs, &OpenLocation { dir: dir.clone(), name: name.to_owned() })?;
            fs.sync_dir(&dir)
        };
        put().inspect_err(|_| drop(draft.discard(fs)))
    }

    /// Returns the state of the base's entry under a name that no whiteout hides and whose entry is about to change, and
    /// stores its content. Returns `None` if the upper layer has another entry: another process then created that of the
    /// base later.
    pub(super) fn remember(&self, node: &Node, name: &str, base: &Dir) -> FsResult<Option<BaseEntry>> {
        let was = self.record(base, name)?;
        let is = node.upper().map_or(Ok(None), |upper| self.is(&upper, name))?;
        if is.is_some() && !is_same(&was, is.as_ref()) {
            return Ok(None);
        }
        if let BaseEntry::File { size, sha256: Some(_) } = was {
            self.keep_origin(node, &OpenLocation { dir: base.clone(), name: name.to_owned() }, name, size)?;
        }
        Ok(Some(was))
    }

    /// Returns the state of the base's entry under the name of a directory that is about to be hidden as a whole; `None`
    /// if there is no directory. If an entry in it is not as the overlay knew it, the returned state is none that the
    /// base can have, so that a commit reports a conflict.
    pub(super) fn remember_dir(&self, node: &Rc<Node>, name: &str) -> FsResult<Option<BaseEntry>> {
        let Some((base, Kind::Directory)) = self.behind(node, name)? else { return Ok(None) };
        Ok(Some(match self.is_in_conflict(&*self.open_below(node, name)?)? {
            true => BaseEntry::Directory { sha256: String::new() },
            false => self.record(&base, name)?,
        }))
    }

    /// Copies all entries of a merged directory to the upper layer. After an error, the copies are removed.
    pub(super) fn fill(&self, top: &Rc<Node>) -> FsResult<()> {
        let mut copied = Vec::new();
        self.fill_all(top, &mut copied).inspect_err(|_| {
            for location in copied.iter().rev() {
                drop(location.discard(self.inner));
            }
        })
    }

    fn fill_all(&self, top: &Rc<Node>, copied: &mut Vec<OpenLocation>) -> FsResult<()> {
        let mut ahead = vec![top.clone()];
        while let Some(node) = ahead.pop() {
            if node.base().is_none() {
                continue;
            }
            let listing = self.list_merged(&node)?;
            if listing.unreadable > 0 {
                return Err(Fault::Access);
            }
            if listing.unnamed > 0 {
                return Err(Fault::Unsupported);
            }
            let upper = self.make_upper(&node)?;
            for entry in listing.entries {
                if entry.kind == Kind::Directory {
                    let below = self.open_below(&node, &entry.name)?;
                    self.make_upper(&below)?;
                    ahead.push(below);
                    continue;
                }
                let layer_entry = self.find(&node, &entry.name)?;
                if !layer_entry.is_upper {
                    self.copy_up(&node, &entry.name, &layer_entry, false)?;
                    copied.push(OpenLocation { dir: upper.clone(), name: entry.name });
                }
            }
            self.inner.sync_dir(&upper)?;
        }
        Ok(())
    }
}
