//! Files and directories that no tool and no program can open or move. They are identified by device and inode, and so
//! recognised by any path, bind mount or container.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::directory::{Directory, HeldEntry, Identity, Walk};
use crate::host_path;
use crate::mount::{CLOSED_IN_CONTAINER, Mount};

/// Private paths of Paddock, which the guest refuses early with a reason.
#[derive(Debug, Default)]
pub(crate) struct OwnPaths {
    /// Absolute paths of private files and directories.
    pub(crate) private: Vec<String>,
    /// Absolute paths of symbolic links that lead to them.
    pub(crate) fixed: Vec<String>,
}

impl OwnPaths {
    /// Finds the private files and directories in these roots.
    pub(crate) fn new(own: &[Walk], roots: &[Mount]) -> Self {
        let mut paths = Self::default();
        let absolute = |root: &Mount, below: &Path| host_path::for_guest(&root.host().join(below));
        for (root, walk) in roots.iter().flat_map(|root| own.iter().map(move |walk| (root, walk))) {
            let below = |below: std::path::PathBuf| absolute(root, &below);
            // No guest can name a path that is not UTF-8; its device and inode protect it.
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

/// Names, each in the directory of the previous name. The last name would be that of a private file.
#[derive(Debug)]
struct Reserved {
    above: Directory,
    names: Vec<OsString>,
}

/// The files and directories that guests of a workspace cannot reach.
#[derive(Debug, Default)]
pub(crate) struct Guarded {
    /// Private files and directories: never opened, moved, removed or replaced.
    closed: HashSet<Identity>,
    /// Private directories created later. They are held open, because a file of the workspace could get the inode
    /// number of a deleted directory.
    created_dirs: Mutex<Vec<Directory>>,
    /// Roots, and directories that contain a root or a private file: never moved, removed or replaced.
    pinned: HashSet<Identity>,
    /// Locations of private files that do not exist, or did not exist when the workspace was opened.
    reserved: Vec<Reserved>,
    /// Directories that contain private files.
    holders: Vec<Directory>,
    /// The files in `closed`, and the links in `pinned`. If one is deleted, no file of the workspace gets its identity.
    held: Vec<Arc<HeldEntry>>,
}

impl Guarded {
    /// Protects the roots against moves, and the private files against every access.
    pub(crate) fn new(roots: &[Mount], own: &[Walk]) -> Self {
        let mut guarded = Self::default();
        roots.iter().for_each(|root| guarded.pin(&root.directory));
        own.iter().for_each(|walk| guarded.close(walk));
        guarded
    }

    /// Protects the target of a path, or the name with which it would be created. Links on the path must keep their
    /// names.
    fn close(&mut self, walk: &Walk) {
        let directory = &walk.directory;
        self.holders.push(directory.clone());
        self.pin(directory);
        self.pinned.extend(walk.links.iter().map(|link| link.entry.identity()));
        self.held.extend(walk.links.iter().map(|link| Arc::clone(&link.entry)));
        match &walk.file {
            _ if !walk.missing.is_empty() => {
                self.reserved.push(Reserved { above: directory.clone(), names: walk.missing.clone() });
            }
            Some(file) => {
                // A process with too many open files protects the file too.
                self.closed.extend(directory.identity_of(file));
                let entry = directory.hold(file).ok().map(Arc::new);
                self.closed.extend(entry.iter().map(|entry| entry.identity()));
                self.held.extend(entry);
            }
            None => drop(self.closed.insert(directory.identity())),
        }
    }

    /// Protects a private directory that was created, or found in place of a deleted one.
    pub(crate) fn close_created(&self, directory: &Directory) {
        let mut created_dirs = self.created_dirs();
        created_dirs.retain(|known| !known.is_deleted());
        let identity = directory.identity();
        if !self.closed.contains(&identity) && !created_dirs.iter().any(|known| known.identity() == identity) {
            created_dirs.push(directory.clone());
        }
    }

    fn created_dirs(&self) -> MutexGuard<'_, Vec<Directory>> {
        self.created_dirs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pin(&mut self, directory: &Directory) {
        self.pinned.extend(directory.ancestors());
        self.pinned.insert(directory.identity());
    }

    /// Returns whether the directory contains a private file.
    #[cfg(all(target_os = "linux", feature = "commands"))]
    pub(crate) fn is_below(&self, directory: Identity) -> bool {
        self.is_closed(directory) || self.holders.iter().any(|holder| holder.is_in(directory))
    }

    #[cfg(all(target_os = "linux", feature = "commands"))]
    pub(crate) fn closed(&self) -> impl Iterator<Item = Identity> {
        let created_dirs: Vec<_> = self.created_dirs().iter().map(Directory::identity).collect();
        self.closed.iter().copied().chain(created_dirs)
    }

    #[cfg(all(target_os = "linux", feature = "commands"))]
    pub(crate) fn pinned(&self) -> impl Iterator<Item = Identity> {
        self.pinned.iter().copied()
    }

    /// Returns the private names that no call may create, each with its directory if it exists.
    #[cfg(all(target_os = "linux", feature = "commands"))]
    pub(crate) fn reserved(&self) -> impl Iterator<Item = (Identity, &OsStr)> {
        let named = self.reserved.iter().map(|reserved| (reserved.above.identity(), reserved.names.as_slice()));
        named.filter_map(|(directory, names)| match names {
            [name] => Some((directory, name.as_os_str())),
            _ => None,
        })
    }

    /// Returns whether the file must not be opened.
    pub(crate) fn is_closed(&self, identity: Identity) -> bool {
        self.closed.contains(&identity) || self.created_dirs().iter().any(|known| known.identity() == identity)
    }

    /// Returns whether the file must keep its name.
    pub(crate) fn is_fixed(&self, identity: Identity) -> bool {
        self.is_closed(identity) || self.pinned.contains(&identity)
    }

    /// Returns whether the name, in the directory that `directory` identifies, is reserved for a private file.
    pub(crate) fn is_own_name(&self, name: &str, directory: impl FnOnce() -> Option<Identity>) -> bool {
        self.is_reserved(name, |reserved, at| at + 1 == reserved.names.len(), directory)
    }

    /// Returns whether the name is reserved for a private file, or for a directory that leads to one: such a
    /// directory may be created, and nothing else may get its name.
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
            // Some file systems ignore letter case.
            let is_name = move |(_, own): &(usize, &OsString)| own.eq_ignore_ascii_case(OsStr::new(name));
            reserved.names.iter().enumerate().filter(is_name).map(move |(at, _)| (reserved, at))
        });
        let mut named = named.filter(|(reserved, at)| counts(reserved, *at)).peekable();
        if named.peek().is_none() {
            return false;
        }
        let directory = directory();
        // A location without an existing directory cannot be this one.
        named.filter_map(|(reserved, at)| reserved.holder(at)).any(|holder| directory.is_none_or(|it| it == holder))
    }
}

impl Reserved {
    /// Returns the directory of the name at this depth, if it exists now.
    fn holder(&self, at: usize) -> Option<Identity> {
        let names = self.names.iter().take(at).map(OsString::as_os_str);
        self.above.descend(names).ok().map(|holder| holder.identity())
    }
}

#[cfg(test)]
mod tests;
