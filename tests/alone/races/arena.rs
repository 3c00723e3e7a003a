//! The directories of the races: a workspace, the entries that are swapped into it, and the files outside.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

pub const CANARY: &str = "CANARY-8d0f36a1c47e";
/// Name of a file that exists only outside.
pub const ONLY_OUTSIDE: &str = "only-outside-2f9b";

pub struct Arena {
    _keep: TempDir,
    pub top: PathBuf,
    outside: BTreeMap<PathBuf, Entry>,
}

/// Mode, modification time, time of the last status change and content of an entry.
type Entry = (u32, i64, i64, Vec<u8>);

impl Arena {
    pub fn new() -> Self {
        let keep = TempDir::with_prefix("paddock-races-").unwrap();
        let top = keep.path().canonicalize().unwrap();
        for directory in ["ws/d", "ws/x", "outside/t", "spare", "state"] {
            fs::create_dir_all(top.join(directory)).unwrap();
        }
        for name in ["f", "g", "m", "v", "w", "c", "t/x", ONLY_OUTSIDE] {
            fs::write(top.join("outside").join(name), CANARY).unwrap();
        }
        for name in ["d/f", "d/g", "d/m", "x/f", "x/g", "l", "p", "a", "b", "plain"] {
            fs::write(top.join("ws").join(name), "inside\n").unwrap();
        }
        symlink("../outside", top.join("ws/y")).unwrap();
        symlink("../outside", top.join("spare/link-to-outside")).unwrap();
        symlink("../outside/f", top.join("spare/link-to-file")).unwrap();
        mkfifoat(CWD, top.join("spare/fifo"), Mode::RUSR | Mode::WUSR).unwrap();
        let outside = snapshot(&top.join("outside"));
        Self { _keep: keep, top, outside }
    }

    /// Fails if anything outside has changed.
    pub fn check_outside(&self) {
        assert_eq!(snapshot(&self.top.join("outside")), self.outside, "something outside was changed");
    }

    /// Fails if content from outside is in the backups, or in copies and moves to names that are not swapped.
    pub fn check_stored(&self) {
        check(&self.top.join("state"));
        for name in ["copied", "copied-link", "moved"] {
            let path = self.top.join("ws").join(name);
            if fs::symlink_metadata(&path).is_ok() {
                check(&path);
            }
        }
    }

    /// Fails if content from outside is anywhere in the workspace, after the swapping has ended.
    pub fn check_inside(&self) {
        ["ws", "spare"].iter().for_each(|directory| check(&self.top.join(directory)));
    }
}

fn check(top: &Path) {
    for (path, (.., content)) in snapshot(top) {
        let path = path.display();
        assert!(!String::from_utf8_lossy(&content).contains(CANARY), "{path} holds what was outside");
        assert!(!path.to_string().contains(ONLY_OUTSIDE), "{path} was outside");
    }
}

fn snapshot(top: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut entries = BTreeMap::new();
    let mut ahead = vec![top.to_owned()];
    while let Some(path) = ahead.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            ahead.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        entries.insert(path, (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), content));
    }
    entries
}
