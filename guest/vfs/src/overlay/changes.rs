//! Differences between an overlay and its base.

use std::collections::BTreeSet;

use paddock_types::entry::Kind;

use crate::bytes::digest;
use crate::overlay::OverlayFs;
use crate::overlay::node::{Node, Whiteouts};
use crate::overlay::whiteouts::BaseEntry;
use crate::{Dir, Fault, FsResult, Open, Preopen};

/// A name whose entry differs from that of the base. Of an entry that was changed and changed back, only the base's can have
/// changed: [`Self::is_unchanged`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The root's guest path.
    pub root: String,
    /// The names from the root to the entry; at least one.
    pub path: Vec<String>,
    /// State of the base's entry when it was first replaced or removed; `None` if it did not exist. In a directory that
    /// was hidden as a whole, the present state of the base: [`OverlayFs::base_now`] of that directory shows whether it
    /// has changed since.
    pub was: Option<BaseEntry>,
    /// The current entry; `None` if it was removed.
    pub is: Option<Is>,
}

/// The current entry of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Is {
    /// A regular file.
    File {
        /// Size in bytes.
        size: u64,
        /// SHA-256 of its content in hexadecimal.
        sha256: String,
    },
    /// A directory; its entries follow.
    Directory,
    /// A symbolic link.
    Link {
        /// Target of the link; `None` if the backend hides it.
        target: Option<String>,
    },
    /// A FIFO, socket or device, which another process created.
    Other,
}

impl Is {
    /// Returns the type of the entry.
    pub fn kind(&self) -> Kind {
        match self {
            Self::File { .. } => Kind::File,
            Self::Directory => Kind::Directory,
            Self::Link { .. } => Kind::Link,
            Self::Other => Kind::Other,
        }
    }
}

impl OverlayFs<'_> {
    /// Returns the differences from the base, root by root and in the order of a walk: a directory, then its entries,
    /// names in byte order. Only changed entries are examined, not the rest of the base.
    ///
    /// A file in the upper layer with unchanged content is no difference, even if its mode differs: WASI does not
    /// report modes, and no tool changes them. Fails if the overlay is damaged.
    pub fn changes(&self) -> FsResult<Vec<Difference>> {
        self.all(Included::Differences)
    }

    /// Returns the differences as [`Self::changes`] does, and all other entries that the overlay has instead of those of the
    /// base, with equal states: files and links, and directories that hide those of the base.
    pub fn changes_and_copies(&self) -> FsResult<Vec<Difference>> {
        self.all(Included::Copies)
    }

    fn all(&self, included: Included) -> FsResult<Vec<Difference>> {
        let mut changes = Vec::new();
        for preopen in &self.preopens {
            let Some(root) = crate::overlay::node(&preopen.dir) else { continue };
            changes.extend(self.changes_below(&preopen.guest_path, &root, included)?.0);
        }
        Ok(changes)
    }

    /// Returns the differences in a directory, and whether the overlay hides an entry there that another process has
    /// created in the base at a name of which the overlay had an entry.
    fn changes_below(&self, root: &str, node: &Node, included: Included) -> FsResult<(Vec<Difference>, bool)> {
        let (path, mut changes, mut hides_other) = (node.path(), Vec::new(), false);
        let top = MergedDirectory {
            base: node.base(),
            is_hidden: false,
            whiteouts: node.whiteouts(),
            upper: node.upper(),
            depth: path.len(),
        };
        let (changes_found, hides) = (&mut changes, &mut hides_other);
        Walk { overlay: self, root, path, included, changes: changes_found, hides_other: hides }.all_below(top)?;
        Ok((changes, hides_other))
    }

    /// Returns whether an entry of the base in this directory is hidden or changed, and not in the state that was recorded.
    pub(super) fn is_in_conflict(&self, node: &Node) -> FsResult<bool> {
        let is_root =
            |preopen: &&Preopen| crate::overlay::node(&preopen.dir).is_some_and(|root| root.root == node.root);
        let root = self.preopens.iter().find(is_root).ok_or(Fault::Gone)?;
        let (differences, hides_other) = self.changes_below(&root.guest_path, node, Included::Differences)?;
        for difference in differences {
            if self.base_now(&difference)? != difference.was {
                return Ok(true);
            }
        }
        Ok(hides_other)
    }

    /// Returns the present state of the base's entry; `None` if it does not exist. If it differs from the recorded
    /// state, another process has changed the base.
    pub fn base_now(&self, difference: &Difference) -> FsResult<Option<BaseEntry>> {
        let roots = self.inner.preopens();
        let root = roots.into_iter().find(|preopen| preopen.guest_path == difference.root).ok_or(Fault::Gone)?;
        let Some((name, above)) = difference.path.split_last() else { return Err(Fault::Name) };
        let mut dir = root.dir;
        for name in above {
            dir = match self.inner.open_dir(&dir, name) {
                Err(Fault::NotFound | Fault::NotDirectory | Fault::Link) => return Ok(None),
                other => other?,
            };
        }
        match self.record(&dir, name) {
            Err(Fault::NotFound) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Returns the entry of an upper directory; `None` if it does not exist.
    pub(super) fn is(&self, upper: &Dir, name: &str) -> FsResult<Option<Is>> {
        let fs = self.inner;
        let stat = match fs.stat(upper, name) {
            Err(Fault::NotFound) => return Ok(None),
            other => other?,
        };
        Ok(Some(match stat.kind {
            Kind::File => {
                let file = fs.open_file(upper, name, Open::Read)?;
                Is::File { size: stat.size, sha256: digest(fs, &file)? }
            }
            Kind::Directory => Is::Directory,
            Kind::Link => Is::Link { target: fs.read_link(upper, name).ok() },
            Kind::Other => Is::Other,
        }))
    }
}

/// Entries that a walk over the layers collects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Included {
    Differences,
    /// Entries of the upper layer that equal those of the base, too.
    Copies,
}

/// A directory in the layers that may contain differences.
struct MergedDirectory {
    base: Option<Dir>,
    /// Whether the base's directory was hidden as a whole. Every entry of the base's directory that the upper layer
    /// does not contain unchanged is then a difference.
    is_hidden: bool,
    whiteouts: Option<Whiteouts>,
    upper: Option<Dir>,
    /// Number of names on the path to it.
    depth: usize,
}

struct Walk<'w, 'f> {
    overlay: &'w OverlayFs<'f>,
    root: &'w str,
    /// Names on the path to the current position.
    path: Vec<String>,
    included: Included,
    changes: &'w mut Vec<Difference>,
    hides_other: &'w mut bool,
}

impl Walk<'_, '_> {
    /// Visits all entries below a directory, without recursion on the stack.
    fn all_below(&mut self, top: MergedDirectory) -> FsResult<()> {
        let first = self.names(&top)?;
        let mut ahead = vec![(top, first)];
        while let Some((directory, names)) = ahead.last_mut() {
            self.path.truncate(directory.depth);
            let Some(name) = names.pop_first() else {
                ahead.pop();
                continue;
            };
            self.path.push(name.clone());
            if let Some(next) = self.compare_entry(directory, &name)? {
                let names = self.names(&next)?;
                ahead.push((next, names));
            }
        }
        Ok(())
    }

    /// Returns the names in a directory that may be differences.
    fn names(&self, directory: &MergedDirectory) -> FsResult<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        let whiteouts = directory.whiteouts.iter().flat_map(|whiteouts| [&whiteouts.at, &whiteouts.within]).flatten();
        let hidden = directory.base.iter().filter(|_| directory.is_hidden);
        for dir in directory.upper.iter().chain(whiteouts).chain(hidden) {
            let listing = self.overlay.inner.list(dir)?;
            if listing.unreadable > 0 {
                return Err(Fault::Io("a directory of the overlay cannot be listed whole".to_owned()));
            }
            names.extend(listing.entries.into_iter().map(|entry| entry.name));
        }
        Ok(names)
    }

    /// Records the difference of a name. Returns its directory if that may contain further differences.
    fn compare_entry(&mut self, directory: &MergedDirectory, name: &str) -> FsResult<Option<MergedDirectory>> {
        let overlay = self.overlay;
        let is = directory.upper.as_ref().map_or(Ok(None), |upper| overlay.is(upper, name))?;
        let whiteout = directory.whiteouts.as_ref().and_then(|whiteouts| whiteouts.at.as_ref());
        let whiteout = match whiteout {
            Some(at) if overlay.inner.stat(at, name) != Err(Fault::NotFound) => Some(overlay.read_whiteout(at, name)?),
            _ => None,
        };
        let there = directory.base.as_ref().map_or(Ok(None), |base| self.there(base, name))?;
        let is_hidden = directory.is_hidden || whiteout.is_some();
        *self.hides_other |= whiteout == Some(None) && is.is_none() && there.is_some();
        let merged = there == Some(Kind::Directory) && matches!(is, None | Some(Is::Directory)) && !is_hidden;
        let was = match (whiteout, &directory.base) {
            _ if merged => None,
            (Some(whiteout), _) => whiteout,
            // The entry is hidden only together with its directory.
            (None, Some(base)) if there.is_some() && directory.is_hidden => Some(overlay.record(base, name)?),
            // An upper entry that equals the base was prepared for a change that did not happen. Otherwise the base's
            // entry was created later, and the former state is absence.
            (None, Some(base)) if there.is_some() && is.is_some() => {
                Some(overlay.record(base, name)?).filter(|was| is_same(was, is.as_ref()))
            }
            _ => None,
        };
        if !merged && !self.note(directory, name, was, is.clone())? {
            return Ok(None);
        }
        self.below(directory, name, is == Some(Is::Directory), is_hidden)
    }

    /// Returns the directory `name` in the layers that have it.
    fn below(
        &self,
        directory: &MergedDirectory,
        name: &str,
        is_above: bool,
        is_hidden: bool,
    ) -> FsResult<Option<MergedDirectory>> {
        let open = |dir: &Dir| match self.overlay.inner.open_dir(dir, name) {
            Err(Fault::NotFound | Fault::NotDirectory | Fault::Link) => Ok(None),
            other => other.map(Some),
        };
        let base = directory.base.as_ref().map_or(Ok(None), open)?;
        let upper = directory.upper.as_ref().filter(|_| is_above).map_or(Ok(None), open)?;
        if base.is_none() && upper.is_none() {
            return Ok(None);
        }
        let whiteouts =
            if is_hidden { None } else { self.overlay.whiteouts_below(directory.whiteouts.as_ref(), name)? };
        Ok(Some(MergedDirectory { base, is_hidden, whiteouts, upper, depth: directory.depth + 1 }))
    }

    /// Records the state of a name. Returns whether its entries must be examined.
    fn note(
        &mut self,
        directory: &MergedDirectory,
        name: &str,
        was: Option<BaseEntry>,
        is: Option<Is>,
    ) -> FsResult<bool> {
        let is_same = match (&was, &is) {
            (None, None) => true,
            (Some(BaseEntry::Directory { sha256 }), Some(Is::Directory)) => match &directory.upper {
                Some(upper) => {
                    let was = BaseEntry::Directory { sha256: sha256.clone() };
                    self.overlay.record(upper, name)? == was && self.has(directory, name, &was)?
                }
                None => false,
            },
            // An entry that was changed back hides the base's, which can have changed since.
            (Some(was), is) => is_same(was, is.as_ref()) && self.has(directory, name, was)?,
            (None, Some(_)) => false,
        };
        let holds_more = matches!(was, Some(BaseEntry::Directory { .. })) || is == Some(Is::Directory);
        if !is_same || (self.included == Included::Copies && is.is_some()) {
            self.changes.push(Difference { root: self.root.to_owned(), path: self.path.clone(), was, is });
        }
        Ok(!is_same && holds_more)
    }

    /// Returns whether the base has this entry.
    fn has(&self, directory: &MergedDirectory, name: &str, entry: &BaseEntry) -> FsResult<bool> {
        match directory.base.as_ref().map_or(Err(Fault::NotFound), |base| self.overlay.record(base, name)) {
            Err(Fault::NotFound) => Ok(false),
            now => Ok(now? == *entry),
        }
    }

    fn there(&self, base: &Dir, name: &str) -> FsResult<Option<Kind>> {
        match self.overlay.inner.stat(base, name) {
            Ok(stat) => Ok(Some(stat.kind)),
            Err(Fault::NotFound) => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}

/// Returns whether a file or link is unchanged.
pub(super) fn is_same(was: &BaseEntry, is: Option<&Is>) -> bool {
    match (was, is) {
        (BaseEntry::File { sha256: Some(was), .. }, Some(Is::File { sha256, .. })) => was == sha256,
        (BaseEntry::Link { target: Some(was), .. }, Some(Is::Link { target: Some(target) })) => was == target,
        _ => false,
    }
}
