//! A disk that loses data: after a crash, synced data exists, and the test chooses which of the other changes survive.
//!
//! The content of a file is durable once the file was synced, a name once its directory was synced. A rename takes
//! effect in both directories or in neither. All other changes may survive in any combination.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use paddock_types::entry::{Kind, Time};
use paddock_vfs::{Dir, DirEntry, Fault, File, Filesystem, FsResult, Listing, Open, Preopen, Stat};

const NOW: Time = Time { seconds: 7, nanoseconds: 0 };

pub struct Disk {
    tops: Vec<&'static str>,
    nodes: RefCell<Vec<Node>>,
    random: Cell<u64>,
    /// All events since the disk was created.
    log: RefCell<Vec<Event>>,
}

/// A file, directory or link, independent of its names. Its number is its index in the list.
#[derive(Clone)]
enum Node {
    Directory(BTreeMap<String, usize>),
    File(Rc<Vec<u8>>),
    Link(String),
}

/// An operation on the disk.
#[derive(Clone, Debug)]
pub enum Event {
    SyncFile(usize),
    SyncDir(usize),
    Change(Change),
}

/// A change that is durable only after a sync.
#[derive(Clone)]
pub enum Change {
    Write { file: usize, offset: usize, bytes: Vec<u8> },
    SetSize { file: usize, size: usize },
    Add { dir: usize, name: String, node: usize },
    Remove { dir: usize, name: String },
    Rename { dir: usize, name: String, to_dir: usize, to: String, node: usize },
}

impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Write { file, offset, bytes } => write!(f, "write {} bytes at {offset} of {file}", bytes.len()),
            Self::SetSize { file, size } => write!(f, "set size of {file} to {size}"),
            Self::Add { dir, name, node } => write!(f, "add {dir}/{name}, {node}"),
            Self::Remove { dir, name } => write!(f, "remove {dir}/{name}"),
            Self::Rename { dir, name, to_dir, to, .. } => write!(f, "rename {dir}/{name} to {to_dir}/{to}"),
        }
    }
}

impl Change {
    fn is_synced_by(&self, event: &Event) -> bool {
        match (self, event) {
            (Self::Write { file, .. } | Self::SetSize { file, .. }, Event::SyncFile(synced)) => file == synced,
            (Self::Add { dir, .. } | Self::Remove { dir, .. }, Event::SyncDir(synced)) => dir == synced,
            (Self::Rename { dir, to_dir, .. }, Event::SyncDir(synced)) => dir == synced || to_dir == synced,
            _ => false,
        }
    }
}

impl Disk {
    pub fn new(tops: &[&'static str]) -> Self {
        let nodes = tops.iter().map(|_| Node::Directory(BTreeMap::new())).collect();
        Self { tops: tops.to_vec(), nodes: RefCell::new(nodes), random: Cell::new(0), log: RefCell::default() }
    }

    /// Returns a copy of the disk on which everything is durable.
    pub fn settled(&self) -> Self {
        let (nodes, random) = (self.nodes.clone(), self.random.clone());
        Self { tops: self.tops.clone(), nodes, random, log: RefCell::default() }
    }

    /// Returns all events since the disk was created.
    pub fn log(&self) -> Vec<Event> {
        self.log.borrow().clone()
    }

    /// Returns the indexes of the events that a crash after these events may undo.
    pub fn unsynced(events: &[Event]) -> Vec<usize> {
        let is_lost = |at: &usize| match &events[*at] {
            Event::Change(change) => !events[*at..].iter().any(|event| change.is_synced_by(event)),
            Event::SyncFile(_) | Event::SyncDir(_) => false,
        };
        (0..events.len()).filter(is_lost).collect()
    }

    /// Returns the disk as created, after these events without the lost ones. `torn` is the index of a write of which
    /// only the first half survives.
    pub fn after(&self, events: &[Event], lost: impl Fn(usize) -> bool, torn: Option<usize>) -> Self {
        let disk = self.settled();
        // New nodes keep their numbers, whether or not their names survived.
        for (at, event) in events.iter().enumerate() {
            if let Event::Change(change) = event
                && !lost(at)
            {
                disk.replay(change, torn == Some(at));
            }
        }
        // Random names from before the crash must not repeat.
        disk.random.set(disk.random.get() + 1_000_000);
        disk
    }

    /// Adds the nodes that `other`, a continuation of this disk, has in addition.
    pub fn with_nodes_of(&self, other: &Self) -> Self {
        let disk = self.settled();
        let others = other.nodes.borrow();
        disk.nodes.borrow_mut().extend(others[self.nodes.borrow().len()..].iter().map(|node| match node {
            Node::Directory(_) => Node::Directory(BTreeMap::new()),
            Node::File(_) => Node::File(Rc::default()),
            Node::Link(target) => Node::Link(target.clone()),
        }));
        disk
    }

    /// Returns a hash of the visible state.
    pub fn digest(&self) -> u64 {
        let nodes = self.nodes.borrow();
        let (mut hasher, mut ahead, mut count) = (DefaultHasher::new(), (0..self.tops.len()).collect::<Vec<_>>(), 0);
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        while let Some(node) = ahead.pop() {
            // A further name of the same file keeps its number.
            let number = *numbers.entry(node).or_insert_with(|| {
                count += 1;
                count
            });
            number.hash(&mut hasher);
            match &nodes[node] {
                Node::Directory(entries) => {
                    entries.len().hash(&mut hasher);
                    entries.keys().for_each(|name| name.hash(&mut hasher));
                    ahead.extend(entries.values());
                }
                Node::File(bytes) => bytes.hash(&mut hasher),
                Node::Link(target) => target.hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    /// Replays a change. The removal of a name that was lost has no effect.
    fn replay(&self, change: &Change, torn: bool) {
        let mut nodes = self.nodes.borrow_mut();
        match change {
            Change::Write { file, offset, bytes } => {
                let half = if torn { bytes.len() / 2 } else { bytes.len() };
                write(&mut nodes[*file], *offset, &bytes[..half]);
            }
            Change::SetSize { file, size } => resize(&mut nodes[*file], *size),
            Change::Add { dir, name, node } => {
                entries(&mut nodes[*dir]).insert(name.clone(), *node);
            }
            Change::Remove { dir, name } => {
                entries(&mut nodes[*dir]).remove(name);
            }
            Change::Rename { dir, name, to_dir, to, node } => {
                entries(&mut nodes[*dir]).remove(name);
                entries(&mut nodes[*to_dir]).insert(to.clone(), *node);
            }
        }
    }

    fn change(&self, change: Change) {
        self.replay(&change, false);
        self.log.borrow_mut().push(Event::Change(change));
    }

    fn find(&self, dir: &Dir, name: &str) -> FsResult<usize> {
        match &self.nodes.borrow()[number(&dir.0)?] {
            Node::Directory(entries) => entries.get(name).copied().ok_or(Fault::NotFound),
            _ => Err(Fault::NotDirectory),
        }
    }

    fn add(&self, dir: &Dir, name: &str, node: impl FnOnce(&mut Vec<Node>) -> usize) -> FsResult<()> {
        match self.find(dir, name) {
            Ok(_) => return Err(Fault::Exists),
            Err(Fault::NotFound) => {}
            Err(fault) => return Err(fault),
        }
        let node = node(&mut self.nodes.borrow_mut());
        self.change(Change::Add { dir: number(&dir.0)?, name: name.to_owned(), node });
        Ok(())
    }

    fn stat_of(&self, node: usize) -> Stat {
        let nodes = self.nodes.borrow();
        let (kind, size) = match &nodes[node] {
            Node::Directory(_) => (Kind::Directory, 0),
            Node::File(bytes) => (Kind::File, bytes.len()),
            Node::Link(target) => (Kind::Link, target.len()),
        };
        let names = |of: &Node| match of {
            Node::Directory(entries) => entries.values().filter(|named| **named == node).count() as u64,
            _ => 0,
        };
        let links = if kind == Kind::Directory { 1 } else { nodes.iter().map(names).sum() };
        Stat { kind, size: size as u64, links, modified: Some(NOW), accessed: Some(NOW), changed: Some(NOW) }
    }

    fn kind(&self, node: usize) -> Kind {
        self.stat_of(node).kind
    }

    fn is_empty(&self, node: usize) -> bool {
        matches!(&self.nodes.borrow()[node], Node::Directory(entries) if entries.is_empty())
    }
}

impl Filesystem for Disk {
    fn preopens(&self) -> Vec<Preopen> {
        let top = |(at, path): (usize, &&str)| Preopen { guest_path: (*path).to_owned(), dir: Dir(Rc::new(at)) };
        self.tops.iter().enumerate().map(top).collect()
    }

    fn open_dir(&self, dir: &Dir, name: &str) -> FsResult<Dir> {
        let node = self.find(dir, name)?;
        match self.kind(node) {
            Kind::Directory => Ok(Dir(Rc::new(node))),
            Kind::Link => Err(Fault::Link),
            _ => Err(Fault::NotDirectory),
        }
    }

    fn open_file(&self, dir: &Dir, name: &str, mode: Open) -> FsResult<File> {
        if mode == Open::CreateNew {
            self.add(dir, name, |nodes| new(nodes, Node::File(Rc::default())))?;
        }
        let node = self.find(dir, name)?;
        match self.kind(node) {
            Kind::File => Ok(File(Rc::new(node))),
            Kind::Link => Err(Fault::Link),
            _ => Err(Fault::IsDirectory),
        }
    }

    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        let nodes = match &self.nodes.borrow()[number(&dir.0)?] {
            Node::Directory(entries) => entries.clone(),
            _ => return Err(Fault::NotDirectory),
        };
        let entries = nodes.into_iter().map(|(name, node)| DirEntry { name, kind: self.kind(node) }).collect();
        Ok(Listing { entries, ..Listing::default() })
    }

    fn is_same_dir(&self, dir: &Dir, other: &Dir) -> FsResult<bool> {
        Ok(number(&dir.0)? == number(&other.0)?)
    }

    fn stat(&self, dir: &Dir, name: &str) -> FsResult<Stat> {
        Ok(self.stat_of(self.find(dir, name)?))
    }

    fn stat_file(&self, file: &File) -> FsResult<Stat> {
        Ok(self.stat_of(number(&file.0)?))
    }

    fn stat_dir(&self, dir: &Dir) -> FsResult<Stat> {
        Ok(self.stat_of(number(&dir.0)?))
    }

    fn read_link(&self, dir: &Dir, name: &str) -> FsResult<String> {
        match &self.nodes.borrow()[self.find(dir, name)?] {
            Node::Link(target) => Ok(target.clone()),
            _ => Err(Fault::Unsupported),
        }
    }

    fn read(&self, file: &File, offset: u64, max: usize, into: &mut Vec<u8>) -> FsResult<usize> {
        let Node::File(bytes) = &self.nodes.borrow()[number(&file.0)?] else { return Err(Fault::IsDirectory) };
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let part = &bytes[start..start.saturating_add(max).min(bytes.len())];
        into.extend_from_slice(part);
        Ok(part.len())
    }

    fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> FsResult<()> {
        let offset = usize::try_from(offset).map_err(|_| Fault::TooLarge)?;
        self.change(Change::Write { file: number(&file.0)?, offset, bytes: bytes.to_vec() });
        Ok(())
    }

    fn set_size(&self, file: &File, size: u64) -> FsResult<()> {
        let size = usize::try_from(size).map_err(|_| Fault::TooLarge)?;
        self.change(Change::SetSize { file: number(&file.0)?, size });
        Ok(())
    }

    fn sync_file(&self, file: &File) -> FsResult<()> {
        self.log.borrow_mut().push(Event::SyncFile(number(&file.0)?));
        Ok(())
    }

    fn sync_dir(&self, dir: &Dir) -> FsResult<()> {
        self.log.borrow_mut().push(Event::SyncDir(number(&dir.0)?));
        Ok(())
    }

    fn make_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.add(dir, name, |nodes| new(nodes, Node::Directory(BTreeMap::new())))
    }

    fn link(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        let node = self.find(dir, name)?;
        if self.kind(node) == Kind::Directory {
            return Err(Fault::IsDirectory);
        }
        self.add(to_dir, to, |_| node)
    }

    fn symlink(&self, dir: &Dir, name: &str, target: &str) -> FsResult<()> {
        self.add(dir, name, |nodes| new(nodes, Node::Link(target.to_owned())))
    }

    fn rename(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        let moved = self.find(dir, name)?;
        let is_dir = self.kind(moved) == Kind::Directory;
        match self.find(to_dir, to) {
            // POSIX does nothing if both names belong to the same file.
            Ok(there) if there == moved => return Ok(()),
            Ok(there) if self.kind(there) == Kind::Directory && !is_dir => return Err(Fault::IsDirectory),
            Ok(there) if self.kind(there) != Kind::Directory && is_dir => return Err(Fault::NotDirectory),
            Ok(there) if is_dir && !self.is_empty(there) => return Err(Fault::NotEmpty),
            _ => {}
        }
        let (dir, to_dir) = (number(&dir.0)?, number(&to_dir.0)?);
        self.change(Change::Rename { dir, name: name.to_owned(), to_dir, to: to.to_owned(), node: moved });
        Ok(())
    }

    fn unlink(&self, dir: &Dir, name: &str) -> FsResult<()> {
        if self.kind(self.find(dir, name)?) == Kind::Directory {
            return Err(Fault::IsDirectory);
        }
        self.change(Change::Remove { dir: number(&dir.0)?, name: name.to_owned() });
        Ok(())
    }

    fn remove_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        let node = self.find(dir, name)?;
        match self.kind(node) {
            Kind::Directory if self.is_empty(node) => {}
            Kind::Directory => return Err(Fault::NotEmpty),
            _ => return Err(Fault::NotDirectory),
        }
        self.change(Change::Remove { dir: number(&dir.0)?, name: name.to_owned() });
        Ok(())
    }

    fn random(&self) -> u64 {
        self.random.replace(self.random.get() + 1)
    }

    fn clock_ms(&self) -> u64 {
        0
    }

    fn now(&self) -> Time {
        NOW
    }
}

fn new(nodes: &mut Vec<Node>, node: Node) -> usize {
    nodes.push(node);
    nodes.len() - 1
}

fn entries(node: &mut Node) -> &mut BTreeMap<String, usize> {
    match node {
        Node::Directory(entries) => entries,
        _ => panic!("no directory"),
    }
}

fn write(node: &mut Node, offset: usize, new: &[u8]) {
    let Node::File(bytes) = node else { panic!("no file") };
    let bytes = Rc::make_mut(bytes);
    if bytes.len() < offset + new.len() {
        bytes.resize(offset + new.len(), 0);
    }
    bytes[offset..offset + new.len()].copy_from_slice(new);
}

fn resize(node: &mut Node, size: usize) {
    let Node::File(bytes) = node else { panic!("no file") };
    Rc::make_mut(bytes).resize(size, 0);
}

fn number(handle: &Rc<dyn std::any::Any>) -> FsResult<usize> {
    handle.downcast_ref().copied().ok_or(Fault::Gone)
}
