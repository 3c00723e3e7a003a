//! A tree in the memory of the instance: for a browser, for sessions that must not use a disk, and for the native
//! tests. It behaves like a POSIX file system without permissions.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use paddock_types::entry::{Kind, Time};

use crate::open_location::is_temporary;
use crate::{Dir, DirEntry, Fault, File, Filesystem, FsResult, Listing, MAX_OFFSET, Open, Preopen, Stat};

mod checkpoints;
mod metadata;
mod quota;

/// A file system of trees in memory, one per preopen. The first is the workspace, whose bytes are counted.
pub struct MemoryFs {
    preopens: Vec<(String, Node)>,
    clock: fn() -> Time,
    random: Cell<u64>,
    checkpoints: RefCell<BTreeMap<String, Node>>,
    quota: quota::Quota,
}

type Node = Rc<Inode>;

/// A file, directory or link. The directories that contain it have its names.
pub struct Inode {
    content: RefCell<MemoryContent>,
    links: Cell<u64>,
    modified: Cell<Time>,
    /// Mode bits, if an archive or an operation has set them; the default of [`Inode::permission_bits`] otherwise.
    /// They are only kept and reported: every entry can be read and changed.
    mode: Cell<Option<u32>>,
    /// Whether its bytes count.
    is_counted: Cell<bool>,
}

enum MemoryContent {
    /// Content, shared with checkpoints until it is written.
    File(Rc<Vec<u8>>),
    Directory(BTreeMap<String, Node>),
    Link(String),
}

impl MemoryFs {
    /// Creates empty trees with these guest paths. `clock` returns the time for modification times.
    pub fn new(guest_paths: &[&str], clock: fn() -> Time, seed: u64) -> Self {
        let top = |is_counted| Inode::new(MemoryContent::Directory(BTreeMap::new()), clock(), is_counted);
        let trees = guest_paths.iter().enumerate();
        Self {
            preopens: trees.map(|(index, path)| ((*path).to_owned(), top(index == 0))).collect(),
            clock,
            random: Cell::new(seed),
            checkpoints: RefCell::default(),
            quota: quota::Quota::default(),
        }
    }

    /// Creates empty trees with the same guest paths, checkpoints and quota.
    pub fn empty_like(&self) -> Self {
        let paths: Vec<_> = self.preopens.iter().map(|(path, _)| path.as_str()).collect();
        let checkpoints = self.checkpoints.clone();
        Self { checkpoints, quota: self.quota.clone(), ..Self::new(&paths, self.clock, self.random.get()) }
    }

    /// Returns a copy of the trees, in which every file has a single name.
    pub fn clone_tree(&self) -> Self {
        let preopens = self.preopens.iter().map(|(path, node)| (path.clone(), Inode::deep_clone(node))).collect();
        Self { preopens, ..self.empty_like() }
    }

    /// Replaces the first tree by the first one of `other`.
    pub fn replace_tree(&self, other: &Self) -> FsResult<()> {
        let (Some((_, own)), Some((_, new))) = (self.preopens.first(), other.preopens.first()) else {
            return Err(Fault::NotFound);
        };
        own.content.swap(&new.content);
        self.quota.forget();
        Ok(())
    }

    fn add(&self, dir: &Dir, name: &str, node: Node) -> FsResult<()> {
        self.check_and_count(dir, &node)?;
        change_entries(dir, (self.clock)(), |entries| {
            if entries.contains_key(name) {
                return Err(Fault::Exists);
            }
            entries.insert(name.to_owned(), node);
            Ok(())
        })
    }
}

impl Filesystem for MemoryFs {
    fn preopens(&self) -> Vec<Preopen> {
        let preopen = |(path, node): &(String, Node)| Preopen { guest_path: path.clone(), dir: Dir(node.clone()) };
        self.preopens.iter().map(preopen).collect()
    }

    fn open_dir(&self, dir: &Dir, name: &str) -> FsResult<Dir> {
        let node = entry(dir, name)?;
        match node.kind() {
            Kind::Directory => Ok(Dir(node)),
            Kind::Link => Err(Fault::Link),
            Kind::File | Kind::Other => Err(Fault::NotDirectory),
        }
    }

    fn open_file(&self, dir: &Dir, name: &str, mode: Open) -> FsResult<File> {
        if mode == Open::CreateNew {
            let node = Inode::new(MemoryContent::File(Rc::default()), (self.clock)(), false);
            self.add(dir, name, node.clone())?;
            return Ok(File(node));
        }
        let node = entry(dir, name)?;
        match node.kind() {
            Kind::File => Ok(File(node)),
            Kind::Directory => Err(Fault::IsDirectory),
            Kind::Link => Err(Fault::Link),
            Kind::Other => Err(Fault::NotRegular),
        }
    }

    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        with_entries(dir, |entries| {
            let entry = |(name, node): (&String, &Node)| DirEntry { name: name.clone(), kind: node.kind() };
            Listing { entries: entries.iter().map(entry).collect(), ..Listing::default() }
        })
    }

    fn stat(&self, dir: &Dir, name: &str) -> FsResult<Stat> {
        Ok(entry(dir, name)?.stat())
    }

    fn stat_file(&self, file: &File) -> FsResult<Stat> {
        Ok(node(&file.0)?.stat())
    }

    fn stat_dir(&self, dir: &Dir) -> FsResult<Stat> {
        Ok(node(&dir.0)?.stat())
    }

    fn is_same_dir(&self, dir: &Dir, other: &Dir) -> FsResult<bool> {
        Ok(Rc::ptr_eq(&node(&dir.0)?, &node(&other.0)?))
    }

    fn read_link(&self, dir: &Dir, name: &str) -> FsResult<String> {
        match &*entry(dir, name)?.content.borrow() {
            MemoryContent::Link(target) => Ok(target.clone()),
            MemoryContent::File(_) | MemoryContent::Directory(_) => {
                Err(Fault::Io("it is not a symbolic link".to_owned()))
            }
        }
    }

    fn read(&self, file: &File, offset: u64, max: usize, into: &mut Vec<u8>) -> FsResult<usize> {
        with_read_bytes(file, |bytes| {
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
            let end = start.saturating_add(max).min(bytes.len());
            let part = bytes.get(start..end).unwrap_or_default();
            into.extend_from_slice(part);
            Ok(part.len())
        })
    }

    fn write(&self, file: &File, offset: u64, new: &[u8]) -> FsResult<()> {
        let end = offset.checked_add(new.len() as u64).filter(|end| *end <= MAX_OFFSET).ok_or(Fault::TooLarge)?;
        let (start, end) = (index(offset)?, index(end)?);
        self.grow(file, end)?;
        with_bytes(file, |bytes| {
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            if let Some(part) = bytes.get_mut(start..end) {
                part.copy_from_slice(new);
            }
            Ok(())
        })?;
        node(&file.0)?.modified.set((self.clock)());
        Ok(())
    }

    fn set_size(&self, file: &File, size: u64) -> FsResult<()> {
        let size = index(size)?;
        self.grow(file, size)?;
        with_bytes(file, |bytes| {
            bytes.resize(size, 0);
            Ok(())
        })?;
        node(&file.0)?.modified.set((self.clock)());
        Ok(())
    }

    fn sync_file(&self, _file: &File) -> FsResult<()> {
        Ok(())
    }

    fn sync_dir(&self, _dir: &Dir) -> FsResult<()> {
        Ok(())
    }

    fn make_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.add(dir, name, Inode::new(MemoryContent::Directory(BTreeMap::new()), (self.clock)(), false))
    }

    fn link(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        let node = entry(dir, name)?;
        if node.kind() == Kind::Directory {
            return Err(Fault::Access);
        }
        self.add(to_dir, to, node.clone())?;
        node.links.set(node.links.get() + 1);
        Ok(())
    }

    fn symlink(&self, dir: &Dir, name: &str, target: &str) -> FsResult<()> {
        self.add(dir, name, Inode::new(MemoryContent::Link(target.to_owned()), (self.clock)(), false))
    }

    fn rename(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        let moved = entry(dir, name)?;
        if let Ok(there) = entry(to_dir, to) {
            if Rc::ptr_eq(&moved, &there) {
                return Ok(());
            }
            match (moved.kind(), there.kind()) {
                (Kind::Directory, Kind::Directory) if !there.is_empty_dir() => return Err(Fault::NotEmpty),
                (Kind::Directory, Kind::Directory) => {}
                (Kind::Directory, _) => return Err(Fault::NotDirectory),
                (_, Kind::Directory) => return Err(Fault::IsDirectory),
                _ => {
                    there.links.set(there.links.get().saturating_sub(1));
                    // Like a host that carries modes over: the new content of a file takes the mode of the old.
                    if is_temporary(name) {
                        moved.mode.set(moved.mode.get().or(there.mode.get()));
                    }
                }
            }
        }
        if moved.kind() == Kind::Directory && contains(&moved, &node(&to_dir.0)?) {
            return Err(Fault::Io("a directory cannot be moved into itself".to_owned()));
        }
        self.check_and_count(to_dir, &moved)?;
        change_entries(dir, (self.clock)(), |entries| entries.remove(name).map(|_| ()).ok_or(Fault::NotFound))?;
        change_entries(to_dir, (self.clock)(), |entries| {
            entries.insert(to.to_owned(), moved);
            Ok(())
        })
    }

    fn unlink(&self, dir: &Dir, name: &str) -> FsResult<()> {
        let node = entry(dir, name)?;
        if node.kind() == Kind::Directory {
            return Err(Fault::IsDirectory);
        }
        node.links.set(node.links.get().saturating_sub(1));
        change_entries(dir, (self.clock)(), |entries| entries.remove(name).map(|_| ()).ok_or(Fault::NotFound))
    }

    fn remove_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        let node = entry(dir, name)?;
        match node.kind() {
            Kind::Directory if node.is_empty_dir() => {}
            Kind::Directory => return Err(Fault::NotEmpty),
            _ => return Err(Fault::NotDirectory),
        }
        change_entries(dir, (self.clock)(), |entries| entries.remove(name).map(|_| ()).ok_or(Fault::NotFound))
    }

    fn mode(&self, dir: &Dir, name: &str) -> Option<u32> {
        Some(entry(dir, name).ok()?.permission_bits())
    }

    fn set_mode(&self, dir: &Dir, name: &str, mode: u32) -> FsResult<()> {
        entry(dir, name)?.mode.set(Some(mode & 0o777));
        Ok(())
    }

    fn random(&self) -> u64 {
        // SplitMix64 suffices: the names must only be unique, because no other process sees this tree.
        let next = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(next);
        let mixed = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn now(&self) -> Time {
        (self.clock)()
    }

    fn clock_ms(&self) -> u64 {
        let now = (self.clock)();
        now.seconds * 1_000 + u64::from(now.nanoseconds / 1_000_000)
    }
}

impl Inode {
    fn new(content: MemoryContent, now: Time, is_counted: bool) -> Node {
        Rc::new(Self {
            content: RefCell::new(content),
            links: Cell::new(1),
            modified: Cell::new(now),
            mode: Cell::new(None),
            is_counted: Cell::new(is_counted),
        })
    }

    fn permission_bits(&self) -> u32 {
        self.mode.get().unwrap_or(if self.kind() == Kind::Directory { 0o755 } else { 0o644 })
    }

    fn kind(&self) -> Kind {
        match &*self.content.borrow() {
            MemoryContent::File(_) => Kind::File,
            MemoryContent::Directory(_) => Kind::Directory,
            MemoryContent::Link(_) => Kind::Link,
        }
    }

    fn stat(&self) -> Stat {
        let size = match &*self.content.borrow() {
            MemoryContent::File(bytes) => bytes.len(),
            MemoryContent::Directory(_) => 0,
            MemoryContent::Link(target) => target.len(),
        };
        let modified = Some(self.modified.get());
        Stat {
            kind: self.kind(),
            size: size as u64,
            links: self.links.get(),
            modified,
            accessed: modified,
            changed: modified,
        }
    }

    fn is_empty_dir(&self) -> bool {
        matches!(&*self.content.borrow(), MemoryContent::Directory(entries) if entries.is_empty())
    }
}

fn node(handle: &Rc<dyn std::any::Any>) -> FsResult<Node> {
    handle.clone().downcast::<Inode>().map_err(|_| Fault::Gone)
}

fn entry(dir: &Dir, name: &str) -> FsResult<Node> {
    with_entries(dir, |entries| entries.get(name).cloned())?.ok_or(Fault::NotFound)
}

fn with_entries<T>(dir: &Dir, act: impl FnOnce(&BTreeMap<String, Node>) -> T) -> FsResult<T> {
    match &*node(&dir.0)?.content.borrow() {
        MemoryContent::Directory(entries) => Ok(act(entries)),
        MemoryContent::File(_) | MemoryContent::Link(_) => Err(Fault::NotDirectory),
    }
}

fn change_entries(
    dir: &Dir,
    now: Time,
    change: impl FnOnce(&mut BTreeMap<String, Node>) -> FsResult<()>,
) -> FsResult<()> {
    let node = node(&dir.0)?;
    let mut content = node.content.borrow_mut();
    let MemoryContent::Directory(entries) = &mut *content else { return Err(Fault::NotDirectory) };
    change(entries)?;
    node.modified.set(now);
    Ok(())
}

fn with_bytes<T>(file: &File, act: impl FnOnce(&mut Vec<u8>) -> FsResult<T>) -> FsResult<T> {
    match &mut *node(&file.0)?.content.borrow_mut() {
        MemoryContent::File(bytes) => act(Rc::make_mut(bytes)),
        MemoryContent::Directory(_) | MemoryContent::Link(_) => Err(Fault::NotRegular),
    }
}

fn with_read_bytes<T>(file: &File, act: impl FnOnce(&[u8]) -> FsResult<T>) -> FsResult<T> {
    match &*node(&file.0)?.content.borrow() {
        MemoryContent::File(bytes) => act(bytes),
        MemoryContent::Directory(_) | MemoryContent::Link(_) => Err(Fault::NotRegular),
    }
}

/// Returns whether `inner` is `outer` or below it.
fn contains(outer: &Node, inner: &Node) -> bool {
    if Rc::ptr_eq(outer, inner) {
        return true;
    }
    match &*outer.content.borrow() {
        MemoryContent::Directory(entries) => entries.values().any(|node| contains(node, inner)),
        MemoryContent::File(_) | MemoryContent::Link(_) => false,
    }
}

fn index(size: u64) -> FsResult<usize> {
    usize::try_from(size).map_err(|_| Fault::TooLarge)
}
