//! What no tool and no program reaches or moves, decided by device and inode: the same file or directory is known by
//! whatever path, bind mount or container it is reached.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::directory::{Directory, Identity, Walk};
use crate::mount::{CLOSED_IN_CONTAINER, Mount};

/// Paths that a guest is told of as Paddock's own, so that it refuses them early and says why.
#[derive(Debug, Default)]
pub(crate) struct OwnPaths {
    /// Absolute paths of Paddock's own files and directories.
    pub(crate) private: Vec<String>,
    /// Those of links on the way to them.
    pub(crate) fixed: Vec<String>,
}

impl OwnPaths {
    /// Finds Paddock's own files and directories in these roots.
    pub(crate) fn new(own: &[Walk], roots: &[Mount]) -> Self {
        let mut paths = Self::default();
        let absolute = |root: &Mount, below: &Path| root.host().join(below).into_os_string().into_string().ok();
        for (root, walk) in roots.iter().flat_map(|root| own.iter().map(move |walk| (root, walk))) {
            let below = |below: std::path::PathBuf| absolute(root, &below);
            // A path that is not UTF-8 no guest can name; it is kept from guests by what it is.
            paths.private.extend(walk.below(&root.directory).and_then(below));
            paths.fixed.extend(walk.links_below(&root.directory).filter_map(below));
        }
        paths
    }

    /// Returns the paths in a container that are closed to tools.
    pub(crate) fn in_container() -> Self {
        Self { private: CLOSED_IN_CONTAINER.map(str::to_owned).into(), fixed: Vec::new() }
    }
}

/// Names, each in the directory of the one before, of which the last would be Paddock's own.
#[derive(Debug)]
struct Reserved {
    above: Directory,
    names: Vec<OsString>,
}

/// The files and directories that a workspace keeps from its guests.
#[derive(Debug, Default)]
pub(crate) struct Guarded {
    /// Paddock's own: never opened, moved, removed or replaced.
    closed: HashSet<Identity>,
    /// Directories of Paddock's own that were made since. They are held open, because the inode number of a deleted
    /// directory is given to the next file, which may be one of the workspace.
    made: Mutex<Vec<Directory>>,
    /// Roots, and directories that hold a root or something closed: never moved, removed or replaced.
    pinned: HashSet<Identity>,
    /// Locations of Paddock's own files that do not exist, or did not when the workspace was opened.
    reserved: Vec<Reserved>,
    /// The directories that hold what is Paddock's own.
    holders: Vec<Directory>,
}

impl Guarded {
    /// Keeps the roots where they are, and closes what is Paddock's own.
    pub(crate) fn new(roots: &[Mount], own: &[Walk]) -> Self {
        let mut guarded = Self::default();
        roots.iter().for_each(|root| guarded.pin(&root.directory));
        own.iter().for_each(|walk| guarded.close(walk));
        guarded
    }

    /// Closes what a path leads to, or the name by which that would be made; the links on the way stay as they are.
    fn close(&mut self, walk: &Walk) {
        let directory = &walk.directory;
        self.holders.push(directory.clone());
        self.pin(directory);
        self.pinned.extend(walk.links.iter().map(|link| link.identity));
        match &walk.file {
            _ if !walk.missing.is_empty() => {
                self.reserved.push(Reserved { above: directory.clone(), names: walk.missing.clone() });
            }
            Some(file) => self.closed.extend(directory.identity_of(file)),
            None => drop(self.closed.insert(directory.identity())),
        }
    }

    /// Closes a directory of Paddock's own that was made, or found in place of one that was deleted.
    pub(crate) fn close_made(&self, directory: &Directory) {
        let mut made = self.made();
        made.retain(|known| !known.is_deleted());
        let identity = directory.identity();
        if !self.closed.contains(&identity) && !made.iter().any(|known| known.identity() == identity) {
            made.push(directory.clone());
        }
    }

    fn made(&self) -> MutexGuard<'_, Vec<Directory>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pin(&mut self, directory: &Directory) {
        self.pinned.extend(directory.ancestors());
        self.pinned.insert(directory.identity());
    }

    /// Whether something of Paddock's own is in that directory.
    #[cfg(all(target_os = "linux", feature = "commands"))]
    pub(crate) fn is_below(&self, directory: Identity) -> bool {
        self.is_closed(directory) || self.holders.iter().any(|holder| holder.is_in(directory))
    }

    #[cfg(all(target_os = "linux", feature = "commands"))]
    pub(crate) fn closed(&self) -> impl Iterator<Item = Identity> {
        let made: Vec<_> = self.made().iter().map(Directory::identity).collect();
        self.closed.iter().copied().chain(made)
    }

    #[cfg(all(target_os = "linux", feature = "commands"))]
    pub(crate) fn pinned(&self) -> impl Iterator<Item = Identity> {
        self.pinned.iter().copied()
    }

    /// Names of Paddock's own that are never made, each with its directory, where that is there.
    #[cfg(all(target_os = "linux", feature = "commands"))]
    pub(crate) fn reserved(&self) -> impl Iterator<Item = (Identity, &OsStr)> {
        let named = self.reserved.iter().map(|reserved| (reserved.above.identity(), reserved.names.as_slice()));
        named.filter_map(|(directory, names)| match names {
            [name] => Some((directory, name.as_os_str())),
            _ => None,
        })
    }

    /// Whether it must not be opened.
    pub(crate) fn is_closed(&self, identity: Identity) -> bool {
        self.closed.contains(&identity) || self.made().iter().any(|known| known.identity() == identity)
    }

    /// Whether it must keep its name.
    pub(crate) fn is_fixed(&self, identity: Identity) -> bool {
        self.is_closed(identity) || self.pinned.contains(&identity)
    }

    /// Whether that name, in the directory that `directory` tells, is reserved for what is Paddock's own.
    pub(crate) fn is_own_name(&self, name: &str, directory: impl FnOnce() -> Option<Identity>) -> bool {
        self.is_reserved(name, |reserved, at| at + 1 == reserved.names.len(), directory)
    }

    /// The same, or for a directory on the way there: that may be made, and nothing else may come to its place.
    pub(crate) fn is_on_the_way(&self, name: &str, directory: impl FnOnce() -> Option<Identity>) -> bool {
        self.is_reserved(name, |_, _| true, directory)
    }

    fn is_reserved(
        &self,
        name: &str,
        counts: impl Fn(&Reserved, usize) -> bool,
        directory: impl FnOnce() -> Option<Identity>,
    ) -> bool {
        let named = self.reserved.iter().flat_map(|reserved| {
            // Some file systems take no notice of letter case.
            let is_name = move |(_, own): &(usize, &OsString)| own.eq_ignore_ascii_case(OsStr::new(name));
            reserved.names.iter().enumerate().filter(is_name).map(move |(at, _)| (reserved, at))
        });
        let mut named = named.filter(|(reserved, at)| counts(reserved, *at)).peekable();
        if named.peek().is_none() {
            return false;
        }
        let directory = directory();
        // One whose directory is not there cannot be that one.
        named.filter_map(|(reserved, at)| reserved.holder(at)).any(|holder| directory.is_none_or(|it| it == holder))
    }
}

impl Reserved {
    /// The directory of the name that is so far on the way, where it is there now.
    fn holder(&self, at: usize) -> Option<Identity> {
        let names = self.names.iter().take(at).map(OsString::as_os_str);
        self.above.descend(names).ok().map(|holder| holder.identity())
    }
}
