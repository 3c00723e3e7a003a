//! Directories that are open. The process opens a directory of the same path once: a server holds the same directories of
//! Paddock's own for each of its workspaces.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use cap_std::fs::Dir;

use super::Identity;
use super::one_descriptor::OneDescriptor;

/// Open directories that are shared.
static SHARED: LazyLock<Mutex<HashMap<Identity, Weak<Held>>>> = LazyLock::new(Mutex::default);

pub(super) struct Held {
    pub(super) dir: OneDescriptor,
    pub(super) identity: Identity,
    /// Directories above it when it was opened, from the top of the file system to its parent.
    pub(super) ancestors: Vec<Identity>,
    /// Path without links when it was opened.
    pub(super) path: PathBuf,
    /// Number of the mount, which may be read-only where another mount of the same directory is not. `None` if the system does
    /// not tell it; the value is then not shared.
    pub(super) mount: Option<u64>,
}

impl Held {
    pub(super) fn new(dir: Dir, ancestors: Vec<Identity>, path: PathBuf) -> io::Result<Self> {
        let (identity, mount) = (Identity::of(&dir.dir_metadata()?), mount(&dir));
        Ok(Self { dir: OneDescriptor::new(dir)?, identity, ancestors, path, mount })
    }

    /// Returns the value that the process has for this directory already, if there is one. While it is open, no other
    /// directory gets its identity.
    pub(super) fn shared(self) -> Arc<Self> {
        let new = Arc::new(self);
        if new.mount.is_none() {
            return new;
        }
        let known = {
            let mut all = all();
            let known = all.get(&new.identity).and_then(Weak::upgrade);
            if known.is_none() {
                all.insert(new.identity, Arc::downgrade(&new));
            }
            known
        };
        known.filter(|known| known.is_same(&new)).unwrap_or(new)
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.identity, self.mount) == (other.identity, other.mount)
            && self.ancestors == other.ancestors
            && self.path == other.path
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = all();
        if all.get(&self.identity).is_some_and(|known| known.strong_count() == 0) {
            all.remove(&self.identity);
        }
    }
}

fn all() -> MutexGuard<'static, HashMap<Identity, Weak<Held>>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(target_os = "linux")]
fn mount(dir: &Dir) -> Option<u64> {
    use rustix::fs::{AtFlags, StatxFlags, statx};

    let found = statx(dir, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

#[cfg(not(target_os = "linux"))]
fn mount(_: &Dir) -> Option<u64> {
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;

    use super::super::Directory;
    use super::*;

    #[test]
    fn a_directory_of_one_path_is_opened_once() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        fs::create_dir(&path).unwrap();
        let open = || Directory::open(&path).unwrap();
        let (one, other) = (open(), open());
        assert!(Arc::ptr_eq(&one.0, &other.0));
        let identity = one.identity();
        // The directory at the path is another one now.
        fs::rename(&path, home.path().join("b")).unwrap();
        fs::create_dir(&path).unwrap();
        let later = open();
        assert!(!Arc::ptr_eq(&one.0, &later.0) && later.identity() != identity);
        // It is the same directory, but its path is not.
        let moved = Directory::open(&home.path().join("b")).unwrap();
        assert!(!Arc::ptr_eq(&one.0, &moved.0) && moved.identity() == identity);
        drop((one, other, moved));
        assert!(!all().contains_key(&identity));
    }

    /// Another mount of the directory can be read-only.
    #[test]
    fn a_directory_of_an_unknown_mount_is_not_shared() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().canonicalize().unwrap();
        let open = || {
            let dir = Dir::open_ambient_dir(&path, cap_std::ambient_authority()).unwrap();
            let mut held = Held::new(dir, Vec::new(), path.clone()).unwrap();
            held.mount = None;
            held.shared()
        };
        let (one, other) = (open(), open());
        assert!(!Arc::ptr_eq(&one, &other) && !all().contains_key(&one.identity));
    }
}
