//! Directories for hostile guests: a workspace and a read-only root, with links that lead outside.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

use crate::directory::{Directory, Identity, Walk};
use crate::guarded::Guarded;
use crate::mount::{Mount, WORKSPACE};
use crate::policy::Access;
use crate::selftest::witness::Witness;

/// Prefix of the names and contents outside, and the size in bytes of a file there.
pub(super) const CANARY: &[u8; 8] = b"CANARY-8";
pub(super) const SIZE: u64 = 703_697;

pub(super) struct Fixture {
    top: TempDir,
    before: Witness,
    own: Witness,
    /// Entries of the workspace that must not be moved.
    fixed: Vec<Identity>,
}

/// Entries of the workspace: a directory and a file of Paddock's own, a root, and the directory that contains that
/// root.
const FIXED: [&str; 4] = ["own", "key", "above", "above/root"];

impl Fixture {
    pub(super) fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        fill(top.path());
        let (before, own) = (record_outside(top.path()), record_own(top.path()));
        let fixed = fixed(top.path());
        Self { top, before, own, fixed }
    }

    /// Returns the mounts of the workspace and of the read-only root.
    pub(super) fn mounts(&self) -> [Mount; 2] {
        [self.mount("ws", WORKSPACE, Access::ReadWrite), self.mount("ro", "/ro", Access::ReadOnly)]
    }

    fn mount(&self, name: &str, guest: &str, access: Access) -> Mount {
        Mount::new(Directory::open(&self.top.path().join(name)).unwrap(), guest, access).unwrap()
    }

    /// Returns the files and directories that no guest may open or move.
    pub(super) fn guarded(&self, mounts: &[Mount]) -> Arc<Guarded> {
        let mut roots = mounts.to_vec();
        roots.push(self.mount("ws/above/root", "/inner", Access::ReadWrite));
        let own = ["ws/own", "ws/key", "ws/reserved/state"].map(|path| Walk::new(&self.top.path().join(path)).unwrap());
        Arc::new(Guarded::new(&roots, &own))
    }

    /// Returns the path of the directory outside.
    pub(super) fn outside(&self) -> String {
        self.top.path().join("outside").to_str().unwrap().to_owned()
    }

    /// Returns the first path that changed, apart from files of the workspace that a guest may change.
    pub(super) fn changed(&self) -> Option<String> {
        let top = self.top.path();
        // A directory on the path to a reserved name may be created, but no other entry in its place.
        let reserved = top.join("ws/reserved");
        let is_replaced = reserved.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir());
        let is_created = reserved.join("state").symlink_metadata().is_ok();
        if fixed(top) != self.fixed || is_replaced || is_created {
            return Some("what has to stay as it is in the workspace".to_owned());
        }
        let (now, own) = (record_outside(top), record_own(top));
        let changed = now.changed_since(&self.before).or_else(|| own.changed_since(&self.own));
        changed.map(|path| path.display().to_string())
    }
}

fn record_own(top: &Path) -> Witness {
    let own = ["own", "key"].map(|name| Witness::record(&top.join("ws").join(name), &[]).unwrap_or_default());
    own.into_iter().collect()
}

fn fixed(top: &Path) -> Vec<Identity> {
    let ws = Directory::open(&top.join("ws")).unwrap();
    FIXED.into_iter().filter_map(|path| ws.identity_of(path)).collect()
}

fn record_outside(top: &Path) -> Witness {
    Witness::record(top, &[&top.join("ws")]).unwrap()
}

fn fill(top: &Path) {
    let canary = std::str::from_utf8(CANARY).unwrap();
    for directory in ["ws/d/deep", "ws/own/d", "ws/above/root", "ro/d", "outside/d"] {
        fs::create_dir_all(top.join(directory)).unwrap();
    }
    for file in ["f", "d/g", ".paddock-a.tmp"] {
        fs::write(top.join("ws").join(file), "inside\n").unwrap();
        fs::write(top.join("ro").join(file), "inside\n").unwrap();
    }
    for (outside, file) in ["outside", "ws/own"].into_iter().flat_map(|top| [(top, canary), (top, "f"), (top, "d/g")]) {
        fs::write(top.join(outside).join(file), CANARY.repeat(64)).unwrap();
    }
    fs::write(top.join("ws/key"), CANARY.repeat(64)).unwrap();
    File::options().write(true).open(top.join("outside").join(canary)).unwrap().set_len(SIZE).unwrap();
    for root in ["ws", "ro"] {
        let root = top.join(root);
        fs::set_permissions(root.join("f"), Permissions::from_mode(0o640)).unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink("../../outside", root.join("d/out")).unwrap();
        symlink("../outside/f", root.join("file")).unwrap();
        symlink(top.join("outside"), root.join("absolute")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        mkfifoat(CWD, root.join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    }
}
