//! Checks of a manifest, which a store under an attacker's control can forge.
//!
//! Each entry comes after the directory that contains it, and the entries are in strict order. No two entries therefore
//! have one path, and no entry is below a file or a link.

use crate::entry::{Entry, PERMISSIONS};
use crate::path::{MAX_PATH, SnapshotPath, Text};

/// The entries checked so far.
#[derive(Default)]
pub(crate) struct Validator {
    last: Option<SnapshotPath>,
    /// Paths of the directories that contain the last entry, the outermost first; the last entry too if it is a directory.
    directories: Vec<SnapshotPath>,
    /// Sum of the sizes of all files in bytes.
    pub(crate) bytes: u64,
}

impl Validator {
    /// Checks the next entry, and returns the cause if it is wrong.
    pub(crate) fn check(&mut self, entry: &Entry) -> Result<(), String> {
        let path = entry.path();
        if self.last.as_ref().is_some_and(|last| last >= path) {
            return Err(format!("`{path}` is not after the entry before it"));
        }
        let parent = path.parent();
        while self.directories.last().is_some_and(|directory| Some(directory.as_bytes()) != parent) {
            self.directories.pop();
        }
        match entry {
            Entry::Directory { .. } => {}
            _ if parent.is_none() => return Err(format!("the tree `{}` is not a directory", lossy(path))),
            Entry::File { .. } => {}
            Entry::Link { target, .. } => check_target(target).map_err(|cause| format!("the link `{path}` {cause}"))?,
        }
        if parent.is_some() && self.directories.is_empty() {
            return Err(format!("`{path}` is in no directory of the snapshot"));
        }
        if entry.mode() & !PERMISSIONS != 0 {
            return Err(format!("the mode of `{path}` has other bits than permissions"));
        }
        if entry.modified().system().is_none() {
            return Err(format!("the time of `{path}` cannot be expressed"));
        }
        self.bytes = self.bytes.checked_add(entry.size()).ok_or("the sizes of the files have an overflow")?;
        if matches!(entry, Entry::Directory { .. }) {
            self.directories.push(path.clone());
        }
        self.last = Some(path.clone());
        Ok(())
    }
}

fn check_target(target: &Text) -> Result<(), &'static str> {
    let target = <Vec<u8>>::try_from(target.clone()).map_err(|_| "has a target that is no text")?;
    match target.len() {
        0 => Err("has no target"),
        1..=MAX_PATH if !target.contains(&0) => Ok(()),
        1..=MAX_PATH => Err("has a target with a NUL byte"),
        _ => Err("has a target of more than 4,096 bytes"),
    }
}

fn lossy(path: &SnapshotPath) -> String {
    String::from_utf8_lossy(path.as_bytes()).escape_debug().to_string()
}
