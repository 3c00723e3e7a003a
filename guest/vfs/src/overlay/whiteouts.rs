//! Whiteouts: names of the base that are hidden, with their former state.
//!
//! The whiteouts of a directory are in a directory with two entries: `at/` contains a file for each hidden name, `in/`
//! contains the same structure for each subdirectory. For example, `gone/workspace/in/src/at/main.rs` hides
//! `src/main.rs`. A directory can be hidden even if names in it are hidden already; this takes one step, whatever it
//! contains.

use paddock_types::digest::hex;
use paddock_types::entry::Kind;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::bytes::{digest, read_up_to};
use crate::open_location::OpenLocation;
use crate::overlay::node::{Node, Whiteouts};
use crate::overlay::{GONE, OverlayFs};
use crate::{Dir, Fault, FsResult, Open, Stat};

pub(super) const AT: &str = "at";
pub(super) const IN: &str = "in";

/// Maximum size of a whiteout in bytes. The target of a link is the largest part of it.
const MAX_WHITEOUT_BYTES: u64 = 64 * 1024;

/// An entry of the base when it was hidden, as its whiteout contains it in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BaseEntry {
    /// A regular file.
    File {
        /// Size in bytes.
        size: u64,
        /// SHA-256 of the content in hexadecimal; `None` if it could not be read.
        sha256: Option<String>,
    },
    /// A directory.
    Directory {
        /// SHA-256 of the content: for each directory, the kinds and contents of the entries in the order of their
        /// names. Empty if the directory was in conflict with the overlay already.
        sha256: String,
    },
    /// A symbolic link.
    Link {
        /// Target of the link; `None` if the backend hides it.
        target: Option<String>,
        /// Seconds and nanoseconds of the last change of the link, in place of a target that is hidden.
        #[serde(default)]
        changed: Option<(u64, u32)>,
    },
    /// A FIFO, socket or device.
    Other,
}

impl BaseEntry {
    /// Returns the type of the entry.
    pub fn kind(&self) -> Kind {
        match self {
            Self::File { .. } => Kind::File,
            Self::Directory { .. } => Kind::Directory,
            Self::Link { .. } => Kind::Link,
            Self::Other => Kind::Other,
        }
    }
}

impl OverlayFs<'_> {
    pub(super) fn open_whiteouts(&self, dir: &Dir) -> FsResult<Whiteouts> {
        let (at, within) = (self.open_if_there(dir, AT)?, self.open_if_there(dir, IN)?);
        Ok(Whiteouts { dir: dir.clone(), at, within })
    }

    /// Returns the whiteouts of the directory `name` in the directory with the whiteouts `above`.
    pub(super) fn whiteouts_below(&self, above: Option<&Whiteouts>, name: &str) -> FsResult<Option<Whiteouts>> {
        let Some(within) = above.and_then(|whiteouts| whiteouts.within.as_ref()) else { return Ok(None) };
        self.open_if_there(within, name)?.map(|dir| self.open_whiteouts(&dir)).transpose()
    }

    pub(super) fn is_hidden_by_whiteout(&self, node: &Node, name: &str) -> FsResult<bool> {
        let Some(at) = node.whiteouts().and_then(|whiteouts| whiteouts.at) else { return Ok(false) };
        match self.inner.stat(&at, name) {
            Ok(_) => Ok(true),
            Err(Fault::NotFound) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Hides a name of the base durably and atomically. `was` is `None` if another process created the base's entry later
    /// than the overlay its own. An existing whiteout stays, because it contains the first hidden state.
    pub(super) fn add_whiteout(&self, node: &Node, name: &str, was: Option<&BaseEntry>) -> FsResult<()> {
        if self.is_hidden_by_whiteout(node, name)? {
            return Ok(());
        }
        let at = self.make_whiteout_dir(node)?;
        let body = serde_json::to_vec(&was).map_err(|cause| Fault::Io(cause.to_string()))?;
        self.draft()?.publish(self.inner, &body.into(), &OpenLocation { dir: at, name: name.to_owned() })
    }

    /// Returns the directory for whiteouts of `node`, created if it does not exist.
    fn make_whiteout_dir(&self, node: &Node) -> FsResult<Dir> {
        if let Some(at) = node.whiteouts().and_then(|whiteouts| whiteouts.at) {
            return Ok(at);
        }
        let root = self.roots.get(node.root).ok_or(Fault::Gone)?;
        let mut dir = self.make_way(&self.make_layers()?, [GONE, root])?;
        for name in node.path() {
            dir = self.make_way(&dir, [IN, &name])?;
        }
        let at = self.make_way(&dir, [AT])?;
        node.set_whiteouts(self.open_whiteouts(&dir)?);
        self.renew_whiteouts_above(node)?;
        Ok(at)
    }

    /// Open directories above the node may have had no whiteouts below them until now.
    fn renew_whiteouts_above(&self, node: &Node) -> FsResult<()> {
        let mut next = node.way();
        while let Some((above, name)) = next {
            let whiteouts = match above.whiteouts() {
                Some(whiteouts) if whiteouts.within.is_some() => break,
                Some(whiteouts) => self.open_whiteouts(&whiteouts.dir)?,
                None => self.find_whiteouts(&above)?.ok_or_else(|| damaged(&name))?,
            };
            above.set_whiteouts(whiteouts);
            next = above.way();
        }
        Ok(())
    }

    fn find_whiteouts(&self, node: &Node) -> FsResult<Option<Whiteouts>> {
        let Some(gone) = self.tree(GONE)? else { return Ok(None) };
        let root = self.roots.get(node.root).ok_or(Fault::Gone)?;
        let Some(dir) = self.open_if_there(&gone, root)? else { return Ok(None) };
        let mut whiteouts = Some(self.open_whiteouts(&dir)?);
        for name in node.path() {
            whiteouts = self.whiteouts_below(whiteouts.as_ref(), &name)?;
        }
        Ok(whiteouts)
    }

    /// Reads a whiteout: the state of the base's entry, or `None` as in [`Self::add_whiteout`].
    pub(super) fn read_whiteout(&self, at: &Dir, name: &str) -> FsResult<Option<BaseEntry>> {
        let file = self.inner.open_file(at, name, Open::Read).map_err(|fault| match fault {
            Fault::Link | Fault::IsDirectory | Fault::NotRegular => damaged(name),
            fault => fault,
        })?;
        let body = read_up_to(self.inner, &file, MAX_WHITEOUT_BYTES).map_err(|fault| match fault {
            Fault::TooLarge => damaged(name),
            fault => fault,
        })?;
        serde_json::from_slice(&body).map_err(|_| damaged(name))
    }

    /// Describes the entry `name` in a directory of the base.
    pub(super) fn record(&self, base: &Dir, name: &str) -> FsResult<BaseEntry> {
        let fs = self.inner;
        let stat = fs.stat(base, name)?;
        Ok(match stat.kind {
            Kind::File => BaseEntry::File { size: stat.size, sha256: self.digest_if_readable(base, name)? },
            Kind::Directory => BaseEntry::Directory { sha256: self.digest_tree(&fs.open_dir(base, name)?)? },
            Kind::Link => {
                let target = fs.read_link(base, name).ok();
                let changed = if target.is_none() { last_change(&stat) } else { None };
                BaseEntry::Link { target, changed }
            }
            Kind::Other => BaseEntry::Other,
        })
    }

    fn digest_if_readable(&self, dir: &Dir, name: &str) -> FsResult<Option<String>> {
        match self.inner.open_file(dir, name, Open::Read).and_then(|file| digest(self.inner, &file)) {
            Ok(digest) => Ok(Some(digest)),
            Err(Fault::Access) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Returns the SHA-256 of all entries of a directory of the base.
    fn digest_tree(&self, top: &Dir) -> FsResult<String> {
        let mut hash = Sha256::new();
        let mut ahead = vec![top.clone()];
        while let Some(dir) = ahead.pop() {
            let mut listing = self.inner.list(&dir)?;
            listing.entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            let unnamed = listing.unnamed + listing.unreadable;
            hash.update(format!("{} {unnamed}\n", listing.entries.len()));
            for entry in listing.entries {
                hash.update(format!("{} {:?} {}\n", entry.name.len(), entry.kind, entry.name));
                match entry.kind {
                    Kind::File => {
                        let digest = self.digest_if_readable(&dir, &entry.name)?;
                        hash.update(digest.unwrap_or_default());
                    }
                    Kind::Directory => ahead.push(self.inner.open_dir(&dir, &entry.name)?),
                    Kind::Link => {
                        let target = match self.inner.read_link(&dir, &entry.name) {
                            Ok(target) => target,
                            Err(_) => format!("{:?}", last_change(&self.inner.stat(&dir, &entry.name)?)),
                        };
                        hash.update(format!("{} {target}", target.len()));
                    }
                    Kind::Other => {}
                }
            }
        }
        Ok(hex(&hash.finalize()))
    }
}

fn last_change(stat: &Stat) -> Option<(u64, u32)> {
    stat.changed.or(stat.modified).map(|time| (time.seconds, time.nanoseconds))
}

/// Returns the error for content of the overlay's directory that this code cannot have written.
pub(super) fn damaged(name: &str) -> Fault {
    Fault::Io(format!("the overlay is damaged: its whiteout of `{name}` cannot be read"))
}
