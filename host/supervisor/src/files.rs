//! Files that the supervisor remembers by what they are, since a path says nothing of one that has none any more.

use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use rustix::path::Arg;

/// Files that are remembered; with more, all are forgotten, and the command gets less.
const REMEMBERED_FILES: usize = 65_536;

/// One file and none before or after it: the number of a file that is removed is given to another one.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub(crate) struct FileKey {
    device: (u32, u32),
    inode: u64,
    /// When it was made, in seconds and nanoseconds; 0 where the file system does not tell.
    born: (i64, u32),
}

impl FileKey {
    pub(crate) fn new(opened: impl AsFd) -> Result<Self, Errno> {
        Self::of(opened, c"", AtFlags::EMPTY_PATH)
    }

    /// The program that a task runs, as the kernel knows it.
    pub(crate) fn of_program(task: i32) -> Result<Self, Errno> {
        Self::of(CWD, format!("/proc/{task}/exe"), AtFlags::empty())
    }

    fn of(directory: impl AsFd, path: impl Arg, flags: AtFlags) -> Result<Self, Errno> {
        let about = statx(directory, path, flags, StatxFlags::INO | StatxFlags::BTIME)?;
        let born = StatxFlags::from_bits_retain(about.stx_mask).contains(StatxFlags::BTIME);
        Ok(Self {
            device: (about.stx_dev_major, about.stx_dev_minor),
            inode: about.stx_ino,
            born: if born { (about.stx_btime.tv_sec, about.stx_btime.tv_nsec) } else { (0, 0) },
        })
    }
}

/// A set of files in bounded memory.
#[derive(Default)]
pub(crate) struct KnownFiles(HashSet<FileKey>);

impl KnownFiles {
    pub(crate) fn add(&mut self, file: FileKey) {
        if self.0.len() >= REMEMBERED_FILES {
            self.0.clear();
        }
        self.0.insert(file);
    }

    pub(crate) fn has(&self, file: FileKey) -> bool {
        self.0.contains(&file)
    }
}

/// Files all of whose names the command has made, with the number of those.
#[derive(Default)]
pub(crate) struct KnownLinks(HashMap<FileKey, u64>);

impl KnownLinks {
    /// Whether the command has made all names of a file that has so many.
    pub(crate) fn cover(&self, opened: impl AsFd, links: u64) -> bool {
        !self.0.is_empty()
            && FileKey::new(opened).is_ok_and(|file| self.0.get(&file).is_some_and(|known| links <= *known))
    }

    /// Notes that a file that had so many names got another one.
    pub(crate) fn add(&mut self, opened: impl AsFd, links: u64) {
        if links > 1 && !self.cover(&opened, links) {
            return;
        }
        if self.0.len() >= REMEMBERED_FILES {
            self.0.clear();
        }
        if let Ok(file) = FileKey::new(opened) {
            self.0.insert(file, links.saturating_add(1));
        }
    }

    /// Notes that a file has one name less.
    pub(crate) fn remove(&mut self, opened: impl AsFd) {
        if self.0.is_empty() {
            return;
        }
        if let Some(known) = FileKey::new(opened).ok().and_then(|file| self.0.get_mut(&file)) {
            *known = known.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn names_that_somebody_else_made_are_not_known() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        let mut links = KnownLinks::default();
        assert!(!links.cover(&file, 2));
        links.add(&file, 2);
        assert!(!links.cover(&file, 3), "one of the two was not the command's");
        links.add(&file, 1);
        assert!(links.cover(&file, 2) && !links.cover(&file, 3));
        links.add(&file, 2);
        assert!(links.cover(&file, 3));
        links.remove(&file);
        assert!(!links.cover(&file, 3));
    }

    #[test]
    fn files_are_forgotten_when_there_are_many() {
        let mut known = KnownFiles::default();
        let file = |inode| FileKey { device: (0, 1), inode, born: (0, 0) };
        (0..REMEMBERED_FILES as u64 + 1).for_each(|inode| known.add(file(inode)));
        assert_eq!(known.0.len(), 1);
        assert!(known.has(file(REMEMBERED_FILES as u64)) && !known.has(file(0)));
    }
}
