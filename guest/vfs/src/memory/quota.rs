//! The limit on the bytes of the workspace's tree and its checkpoints together.
//!
//! The bytes are counted only when a write might not fit; until then a lower bound of the free bytes suffices.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use crate::memory::{Inode, MemoryContent, MemoryFs, Node, node};
use crate::{Dir, Fault, File, FsResult};

/// The limit, and a lower bound of the free bytes.
#[derive(Clone)]
pub(super) struct Quota {
    limit: Cell<u64>,
    spare: Cell<u64>,
}

impl Default for Quota {
    fn default() -> Self {
        Self { limit: Cell::new(u64::MAX), spare: Cell::new(0) }
    }
}

impl Quota {
    /// Discards the lower bound after the tree was replaced.
    pub(super) fn forget(&self) {
        self.spare.set(0);
    }
}

impl MemoryFs {
    /// Returns the maximum number of bytes of all files, including those of checkpoints.
    pub fn limit(&self) -> u64 {
        self.quota.limit.get()
    }

    /// Sets the maximum number of bytes of all files.
    pub fn set_limit(&self, bytes: u64) {
        if self.quota.limit.replace(bytes) != bytes {
            self.quota.forget();
        }
    }

    /// Makes sure that a file may have `size` bytes.
    pub(super) fn grow(&self, file: &File, size: usize) -> FsResult<()> {
        let node = node(&file.0)?;
        let MemoryContent::File(bytes) = &*node.content.borrow() else { return Err(Fault::NotRegular) };
        let own = if Rc::strong_count(bytes) > 1 { 0 } else { bytes.len() };
        let after = size.max(bytes.len());
        if !node.is_counted.get() { Ok(()) } else { self.reserve(after.saturating_sub(own) as u64) }
    }

    /// Counts the bytes of an entry that moves into a directory of the workspace.
    pub(super) fn check_and_count(&self, dir: &Dir, moved: &Node) -> FsResult<()> {
        let is_counted = node(&dir.0)?.is_counted.get();
        if is_counted == moved.is_counted.get() {
            return Ok(());
        }
        if is_counted {
            self.reserve(sum(moved, &mut HashSet::new()))?;
        }
        set_counted(moved, is_counted);
        Ok(())
    }

    fn reserve(&self, bytes: u64) -> FsResult<()> {
        let quota = &self.quota;
        if bytes > quota.spare.get() {
            quota.spare.set(quota.limit.get().saturating_sub(self.used()));
        }
        let left = quota.spare.get().checked_sub(bytes).ok_or(Fault::NoSpace)?;
        quota.spare.set(left);
        Ok(())
    }

    /// Returns the bytes of the files of the workspace and of the checkpoints; shared content counts once.
    fn used(&self) -> u64 {
        let mut counted = HashSet::new();
        let own = self.preopens.first().map_or(0, |(_, top)| sum(top, &mut counted));
        self.checkpoints.borrow().values().fold(own, |used, top| used + sum(top, &mut counted))
    }
}

/// Returns the bytes of the files at and below a node, without files in `seen`.
fn sum(node: &Node, counted: &mut HashSet<*const Vec<u8>>) -> u64 {
    match &*node.content.borrow() {
        MemoryContent::File(bytes) if counted.insert(Rc::as_ptr(bytes)) => bytes.len() as u64,
        MemoryContent::Directory(entries) => entries.values().map(|node| sum(node, counted)).sum(),
        MemoryContent::File(_) | MemoryContent::Link(_) => 0,
    }
}

fn set_counted(node: &Inode, is_counted: bool) {
    node.is_counted.set(is_counted);
    if let MemoryContent::Directory(entries) = &*node.content.borrow() {
        entries.values().for_each(|node| set_counted(node, is_counted));
    }
}

#[cfg(test)]
mod tests {
    use paddock_types::entry::Time;
    use paddock_types::error::Code;

    use super::*;
    use crate::{Filesystem, Open};

    fn tree(limit: u64) -> (MemoryFs, Dir, Dir) {
        let tree = MemoryFs::new(&["/workspace", "/state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
        tree.set_limit(limit);
        let mut tops = tree.preopens().into_iter().map(|preopen| preopen.dir);
        let (own, state) = (tops.next().unwrap(), tops.next().unwrap());
        (tree, own, state)
    }

    fn write(tree: &MemoryFs, dir: &Dir, name: &str, bytes: usize) -> FsResult<()> {
        let file = tree.open_file(dir, name, Open::Write).or_else(|_| tree.open_file(dir, name, Open::CreateNew))?;
        tree.set_size(&file, 0)?;
        tree.write(&file, 0, &vec![b'x'; bytes])
    }

    #[test]
    fn the_last_byte_fits_and_the_next_does_not() {
        let (tree, top, _) = tree(100);
        write(&tree, &top, "a", 60).unwrap();
        write(&tree, &top, "b", 40).unwrap();
        assert_eq!(write(&tree, &top, "c", 1), Err(Fault::NoSpace));
        assert_eq!(tree.stat(&top, "c").unwrap().size, 0);
        write(&tree, &top, "b", 39).unwrap();
        write(&tree, &top, "c", 1).unwrap();
        tree.unlink(&top, "a").unwrap();
        write(&tree, &top, "d", 60).unwrap();
        let file = tree.open_file(&top, "d", Open::Write).unwrap();
        assert_eq!(tree.set_size(&file, 61), Err(Fault::NoSpace));
        assert_eq!(tree.write(&file, 60, b"x"), Err(Fault::NoSpace));
    }

    #[test]
    fn a_checkpoint_counts_only_later_changes() {
        let (tree, top, _) = tree(100);
        write(&tree, &top, "a", 50).unwrap();
        tree.checkpoint("one").unwrap();
        tree.checkpoint("two").unwrap();
        write(&tree, &top, "b", 50).unwrap();
        let file = tree.open_file(&top, "a", Open::Write).unwrap();
        assert_eq!(tree.write(&file, 0, b"y"), Err(Fault::NoSpace), "the checkpoint keeps the old bytes");
        tree.unlink(&top, "b").unwrap();
        tree.write(&file, 0, b"y").unwrap();
        assert_eq!(write(&tree, &top, "b", 1), Err(Fault::NoSpace));
        tree.rollback("one").unwrap();
        let mut bytes = Vec::new();
        tree.read(&tree.open_file(&top, "a", Open::Read).unwrap(), 0, 100, &mut bytes).unwrap();
        assert_eq!(bytes, [b'x'; 50]);
        write(&tree, &top, "b", 50).unwrap();
        assert_eq!(tree.checkpoints(), ["one", "two"]);
        assert_eq!(tree.checkpoint("one").unwrap_err().code, Code::AlreadyExists);
        assert_eq!(tree.rollback("three").unwrap_err().code, Code::NotFound);
        assert_eq!(tree.checkpoint("a/b").unwrap_err().code, Code::InvalidArgument);
    }

    #[test]
    fn backups_do_not_count_toward_the_limit() {
        let (tree, top, state) = tree(100);
        write(&tree, &state, "backup", 500).unwrap();
        write(&tree, &top, "a", 100).unwrap();
        assert_eq!(tree.rename(&state, "backup", &top, "b"), Err(Fault::NoSpace));
        assert_eq!(tree.stat(&state, "backup").unwrap().size, 500);
        tree.rename(&top, "a", &state, "a").unwrap();
        write(&tree, &top, "c", 100).unwrap();
        tree.unlink(&top, "c").unwrap();
        tree.rename(&state, "a", &top, "a").unwrap();
        assert_eq!(write(&tree, &top, "c", 1), Err(Fault::NoSpace));
    }
}
