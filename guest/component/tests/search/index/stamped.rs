//! A file system in memory with inodes, the times of changes of metadata, and a clock of low resolution.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use paddock_types::entry::{Kind, Time};
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Dir, Fault, File, Filesystem, FsResult, Listing, Open, Preopen, Stat};

thread_local! {
    static NOW_NS: Cell<u64> = const { Cell::new(1_700_000_000_000_000_000) };
}

pub fn now_ns() -> u64 {
    NOW_NS.get()
}

pub fn set_now_ns(now: u64) {
    NOW_NS.set(now);
}

pub fn advance(nanoseconds: u64) {
    set_now_ns(now_ns() + nanoseconds);
}

fn now() -> Time {
    time(now_ns())
}

fn time(ns: u64) -> Time {
    Time { seconds: ns / 1_000_000_000, nanoseconds: (ns % 1_000_000_000) as u32 }
}

/// Beginning of the names of files without a stamp.
pub const UNSTAMPED: &str = "unstamped-";

/// Ends of the names of segments, and of files with listings.
const SEGMENT: &str = ".segment";
pub const LISTINGS: &str = ".listings";

pub struct Stamped {
    inner: MemoryFs,
    /// Times of the last changes of the metadata, or of the entries of a directory, by inode.
    changed: RefCell<HashMap<usize, u64>>,
    /// Number of opened files, but for those of the index.
    pub opened: Cell<u64>,
    /// Number of listed directories.
    pub listed: Cell<u64>,
    /// Number of segments that can be removed.
    pub removable: Cell<u64>,
    /// Number of times that segments can be opened before another process has removed them all.
    pub openable: Cell<u64>,
    /// Number of bytes that were read in segments.
    pub segment_bytes: Cell<u64>,
    /// Time that each read in a segment takes, in milliseconds, and time that all have taken.
    pub segment_read_ms: Cell<u64>,
    passed_ms: Cell<u64>,
    /// Inodes of opened segments.
    segments: RefCell<HashSet<usize>>,
}

impl Stamped {
    pub fn new() -> Self {
        Self::with_roots(&["/workspace", "/paddock-state"])
    }

    /// Creates a file system in which the state directory is the second one.
    pub fn with_roots(guest_paths: &[&str]) -> Self {
        let inner = MemoryFs::new(guest_paths, now, 1);
        let (opened, listed, openable) = (Cell::new(0), Cell::new(0), Cell::new(u64::MAX));
        let removable = Cell::new(u64::MAX);
        let [segment_bytes, segment_read_ms, passed_ms] = [0; 3].map(Cell::new);
        Self {
            inner,
            changed: RefCell::default(),
            opened,
            listed,
            removable,
            openable,
            segment_bytes,
            segment_read_ms,
            passed_ms,
            segments: RefCell::default(),
        }
    }

    /// Returns the inode of a file.
    fn inode(&self, dir: &Dir, name: &str) -> Option<usize> {
        let file = self.inner.open_file(dir, name, Open::Read).ok()?;
        Some(Rc::as_ptr(&file.0).cast::<()>() as usize)
    }

    fn touch_dir(&self, dir: &Dir) {
        self.touch(Some(Rc::as_ptr(&dir.0).cast::<()>() as usize));
    }

    fn touch(&self, inode: Option<usize>) {
        self.changed.borrow_mut().extend(inode.map(|inode| (inode, now_ns())));
    }

    fn with_changed(&self, stat: Stat, inode: Option<usize>) -> Stat {
        let changed = inode.and_then(|inode| self.changed.borrow().get(&inode).copied());
        Stat { changed: changed.map(time).or(stat.changed), ..stat }
    }

    /// Sets the modification time, as `utimensat` does.
    pub fn set_modified(&self, dir: &Dir, name: &str, modified: Time) {
        self.inner.set_modified(dir, name, modified).unwrap();
        self.touch(self.inode(dir, name));
    }

    fn index_dir(&self) -> Option<Dir> {
        self.inner.open_dir(&self.inner.preopens()[1].dir, "index").ok()
    }

    /// Returns the names of the segments of the index.
    pub fn index(&self) -> Vec<String> {
        self.index_files(SEGMENT)
    }

    /// Returns the names of the files of the index with this end.
    pub fn index_files(&self, end: &str) -> Vec<String> {
        let listing = self.index_dir().map(|dir| self.inner.list(&dir).unwrap()).unwrap_or_default();
        listing.entries.into_iter().map(|entry| entry.name).filter(|name| name.ends_with(end)).collect()
    }

    pub fn index_file(&self, name: &str) -> Vec<u8> {
        let file = self.inner.open_file(&self.index_dir().unwrap(), name, Open::Read).unwrap();
        let mut bytes = Vec::new();
        self.inner.read(&file, 0, usize::MAX, &mut bytes).unwrap();
        bytes
    }

    pub fn set_index_file(&self, name: &str, bytes: &[u8]) {
        let file = self.inner.open_file(&self.index_dir().unwrap(), name, Open::Write).unwrap();
        self.inner.set_size(&file, bytes.len() as u64).unwrap();
        self.inner.write(&file, 0, bytes).unwrap();
    }
}

fn hash(inode: usize, stat: &Stat) -> [u64; 2] {
    [0, 1].map(|half: u64| {
        let mut hasher = DefaultHasher::new();
        let time = |time: Option<Time>| time.map(|time| (time.seconds, time.nanoseconds));
        (half, inode, stat.size, time(stat.modified), time(stat.changed)).hash(&mut hasher);
        hasher.finish()
    })
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($arg: $type),*) -> $result {
            self.inner.$name($($arg),*)
        })*
    };
}

impl Filesystem for Stamped {
    forward! {
        preopens() -> Vec<Preopen>;
        open_dir(dir: &Dir, name: &str) -> FsResult<Dir>;
        is_same_dir(dir: &Dir, other: &Dir) -> FsResult<bool>;
        read_link(dir: &Dir, name: &str) -> FsResult<String>;
        sync_file(file: &File) -> FsResult<()>;
        sync_dir(dir: &Dir) -> FsResult<()>;
        random() -> u64;
        now() -> Time;
    }

    fn clock_ms(&self) -> u64 {
        self.inner.clock_ms() + self.passed_ms.get()
    }

    fn open_file(&self, dir: &Dir, name: &str, mode: Open) -> FsResult<File> {
        let is_index = [SEGMENT, LISTINGS].iter().any(|end| name.ends_with(end));
        self.opened.set(self.opened.get() + u64::from(!is_index));
        if name.ends_with(SEGMENT) && mode == Open::Read {
            self.openable.set(self.openable.get().checked_sub(1).ok_or(Fault::NotFound)?);
        }
        let file = self.inner.open_file(dir, name, mode)?;
        if name.ends_with(SEGMENT) {
            self.segments.borrow_mut().insert(Rc::as_ptr(&file.0).cast::<()>() as usize);
        }
        if mode == Open::CreateNew {
            self.touch(self.inode(dir, name));
            self.touch_dir(dir);
        }
        Ok(file)
    }

    fn read(&self, file: &File, offset: u64, max: usize, into: &mut Vec<u8>) -> FsResult<usize> {
        let length = self.inner.read(file, offset, max, into)?;
        if self.segments.borrow().contains(&(Rc::as_ptr(&file.0).cast::<()>() as usize)) {
            self.segment_bytes.set(self.segment_bytes.get() + length as u64);
            self.passed_ms.set(self.passed_ms.get() + self.segment_read_ms.get());
        }
        Ok(length)
    }

    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        self.listed.set(self.listed.get() + 1);
        self.inner.list(dir)
    }

    fn stat_dir(&self, dir: &Dir) -> FsResult<Stat> {
        Ok(self.with_changed(self.inner.stat_dir(dir)?, Some(Rc::as_ptr(&dir.0).cast::<()>() as usize)))
    }

    fn make_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.touch_dir(dir);
        self.inner.make_dir(dir, name)?;
        self.touch_dir(&self.inner.open_dir(dir, name)?);
        Ok(())
    }

    fn symlink(&self, dir: &Dir, name: &str, target: &str) -> FsResult<()> {
        self.touch_dir(dir);
        self.inner.symlink(dir, name, target)
    }

    fn remove_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.touch_dir(dir);
        self.inner.remove_dir(dir, name)
    }

    fn stat(&self, dir: &Dir, name: &str) -> FsResult<Stat> {
        let directory = self.inner.open_dir(dir, name).ok().map(|dir| Rc::as_ptr(&dir.0).cast::<()>() as usize);
        Ok(self.with_changed(self.inner.stat(dir, name)?, directory.or_else(|| self.inode(dir, name))))
    }

    fn stat_file(&self, file: &File) -> FsResult<Stat> {
        Ok(self.with_changed(self.inner.stat_file(file)?, Some(Rc::as_ptr(&file.0).cast::<()>() as usize)))
    }

    fn stamp(&self, dir: &Dir, name: &str) -> Option<[u64; 2]> {
        if name.starts_with(UNSTAMPED) {
            return None;
        }
        let inode = self.inode(dir, name)?;
        let stat = self.stat(dir, name).ok().filter(|stat| stat.kind == Kind::File)?;
        Some(hash(inode, &stat))
    }

    fn stamp_dir(&self, dir: &Dir) -> Option<[u64; 2]> {
        Some(hash(Rc::as_ptr(&dir.0).cast::<()>() as usize, &self.stat_dir(dir).ok()?))
    }

    fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> FsResult<()> {
        self.touch(Some(Rc::as_ptr(&file.0).cast::<()>() as usize));
        self.inner.write(file, offset, bytes)
    }

    fn set_size(&self, file: &File, size: u64) -> FsResult<()> {
        self.touch(Some(Rc::as_ptr(&file.0).cast::<()>() as usize));
        self.inner.set_size(file, size)
    }

    fn link(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        self.touch(self.inode(dir, name));
        self.touch_dir(to_dir);
        self.inner.link(dir, name, to_dir, to)
    }

    fn rename(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        self.touch(self.inode(dir, name));
        self.touch(self.inode(to_dir, to));
        self.touch_dir(dir);
        self.touch_dir(to_dir);
        self.inner.rename(dir, name, to_dir, to)
    }

    fn unlink(&self, dir: &Dir, name: &str) -> FsResult<()> {
        if name.ends_with(SEGMENT) {
            let rest = self.removable.get().checked_sub(1);
            self.removable.set(rest.ok_or_else(|| Fault::Io("the test removes no more segments".to_owned()))?);
        }
        self.touch(self.inode(dir, name));
        self.touch_dir(dir);
        self.inner.unlink(dir, name)
    }
}
