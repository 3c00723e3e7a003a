//! Sets of files identified by device, inode and birth time, because a removed file has no path.

use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use rustix::path::Arg;

/// Maximum number of remembered files. Beyond it, all are forgotten, and the command is allowed less.
const REMEMBERED_FILES: usize = 65_536;

/// Identity of a file. It includes the birth time, because the inode number of a removed file is reused.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub(crate) struct FileKey {
    device: (u32, u32),
    inode: u64,
    /// Birth time in seconds and nanoseconds; 0 if the file system does not report it.
    born: (i64, u32),
}

impl FileKey {
    pub(crate) fn new(opened: impl AsFd) -> Result<Self, Errno> {
        Self::of(opened, c"", AtFlags::EMPTY_PATH)
    }

    /// Returns the key of the program that a thread runs, as recorded by the kernel.
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

/// Files whose second and further names were all created by the command, with the number of their names.
#[derive(Default)]
pub(crate) struct KnownLinks(HashMap<FileKey, u64>);

impl KnownLinks {
    /// Returns whether the command created all further names of a file that has `links` names.
    pub(crate) fn cover(&self, opened: impl AsFd, links: impl Into<u64>) -> bool {
        let links = links.into();
        !self.0.is_empty()
            && FileKey::new(opened).is_ok_and(|file| self.0.get(&file).is_some_and(|known| links <= *known))
    }

    /// Records that the command gave a further name to a file that had `links` names.
    pub(crate) fn add(&mut self, opened: impl AsFd, links: impl Into<u64>) {
        let links = links.into();
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

    /// Records that the command removed a name of a file.
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
    fn names_that_other_processes_created_are_unknown() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        let mut links = KnownLinks::default();
        assert!(!links.cover(&file, 2_u64));
        links.add(&file, 2_u64);
        assert!(!links.cover(&file, 3_u64), "one of the two was not the command's");
        links.add(&file, 1_u64);
        assert!(links.cover(&file, 2_u64) && !links.cover(&file, 3_u64));
        links.add(&file, 2_u64);
        assert!(links.cover(&file, 3_u64));
        links.remove(&file);
        assert!(!links.cover(&file, 3_u64));
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
