//! Where hostile guests are: a workspace and a read-only root, with links to what is outside.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

use crate::mount::{Mount, WORKSPACE};
use crate::policy::Access;
use crate::selftest::witness::Witness;

/// What names and contents outside begin with, and the size of a file there.
pub(super) const CANARY: &[u8; 8] = b"CANARY-8";
pub(super) const SIZE: u64 = 703_697;

pub(super) struct Place {
    top: TempDir,
    before: Witness,
}

impl Place {
    pub(super) fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        fill(top.path());
        let before = look(top.path());
        Self { top, before }
    }

    /// The workspace, and the read-only root.
    pub(super) fn mounts(&self) -> [Mount; 2] {
        let mount = |name, guest, access| Mount::new(&self.top.path().join(name), guest, access).unwrap();
        [mount("ws", WORKSPACE, Access::ReadWrite), mount("ro", "/ro", Access::ReadOnly)]
    }

    /// The path of what is outside.
    pub(super) fn outside(&self) -> String {
        self.top.path().join("outside").to_str().unwrap().to_owned()
    }

    /// What is not as it was, of all but the workspace.
    pub(super) fn changed(&self) -> Option<String> {
        look(self.top.path()).changed_since(&self.before).map(|path| path.display().to_string())
    }
}

fn look(top: &Path) -> Witness {
    Witness::look(top, &[&top.join("ws")]).unwrap()
}

fn fill(top: &Path) {
    let canary = std::str::from_utf8(CANARY).unwrap();
    for directory in ["ws/d/deep", "ro/d", "outside/d"] {
        fs::create_dir_all(top.join(directory)).unwrap();
    }
    for file in ["f", "d/g", ".paddock-a.tmp"] {
        fs::write(top.join("ws").join(file), "inside\n").unwrap();
        fs::write(top.join("ro").join(file), "inside\n").unwrap();
    }
    for file in [canary, "f", "d/g"] {
        fs::write(top.join("outside").join(file), CANARY.repeat(64)).unwrap();
    }
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
