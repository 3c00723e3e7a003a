//! Workspaces in memory for tests.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "only tests use it; a test fails by panicking")]

use paddock_types::entry::Time;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Filesystem, Open};

use crate::Workspace;

/// Runs `test` on a workspace with these files; `a/` is a directory, `a -> b` a link.
pub fn with<T>(files: &[(&str, &[u8])], policy: &Policy, test: impl FnOnce(&Workspace<'_>) -> T) -> T {
    let fs = MemoryFs::new(&["/workspace"], || Time { seconds: 1_700_000_000, nanoseconds: 0 }, 7);
    let top = fs.preopens()[0].dir.clone();
    for (name, bytes) in files {
        if let Some((name, target)) = name.split_once(" -> ") {
            fs.symlink(&top, name, target).unwrap();
        } else if let Some(name) = name.strip_suffix('/') {
            fs.make_dir(&top, name).unwrap();
        } else {
            let file = fs.open_file(&top, name, Open::CreateNew).unwrap();
            fs.write(&file, 0, bytes).unwrap();
        }
    }
    test(&Workspace::open(&fs, policy).unwrap())
}
