//! A backend modeled on a database: a single table of names, each in a numbered directory, without links of any kind.
//! `guest/BACKENDS.md` uses it as the example.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use paddock_types::entry::{Kind, Time};
use paddock_vfs::{Dir, DirEntry, Fault, File, Filesystem, FsResult, Listing, MAX_OFFSET, Open, Preopen, Stat};

/// Numbers of the workspace and the state directory; other directories get higher numbers.
const TOPS: [(&str, u64); 2] = [("/workspace", 0), ("/paddock-state", 1)];
const NOW: Time = Time { seconds: 7, nanoseconds: 0 };

pub struct TableFs {
    names: RefCell<BTreeMap<(u64, String), Node>>,
    next: Cell<u64>,
    random: Cell<u64>,
    /// Number of changes that succeed before one fails.
    pub left: Cell<u64>,
    /// Whether every later change fails too.
    pub crashes: Cell<bool>,
}

#[derive(Clone)]
enum Node {
    /// Number of the directory, the key of its entries; a rename does not change it.
    Directory(u64),
    /// Content of a file, shared with open handles, which outlive its names.
    File(Bytes),
}

type Bytes = Rc<RefCell<Vec<u8>>>;

impl TableFs {
    pub fn new() -> Self {
        let (next, random) = (Cell::new(2), Cell::new(0));
        Self { names: RefCell::default(), next, random, left: Cell::new(u64::MAX), crashes: Cell::new(false) }
    }

    fn find(&self, dir: &Dir, name: &str) -> FsResult<Node> {
        let key = (number(dir)?, name.to_owned());
        self.names.borrow().get(&key).cloned().ok_or(Fault::NotFound)
    }

    fn add(&self, dir: &Dir, name: &str, node: Node) -> FsResult<()> {
        self.change()?;
        match self.find(dir, name) {
            Err(Fault::NotFound) => self.names.borrow_mut().insert((number(dir)?, name.to_owned()), node),
            Ok(_) => return Err(Fault::Exists),
            Err(fault) => return Err(fault),
        };
        Ok(())
    }

    fn remove(&self, dir: &Dir, name: &str) -> FsResult<()> {
        let removed = self.names.borrow_mut().remove(&(number(dir)?, name.to_owned()));
        removed.map(|_| ()).ok_or(Fault::NotFound)
    }

    fn is_empty(&self, directory: u64) -> bool {
        self.names.borrow().range((directory, String::new())..(directory + 1, String::new())).next().is_none()
    }

    /// Returns whether the directory `inner` is `outer` or lies below it.
    fn holds(&self, outer: u64, inner: u64) -> bool {
        let names = self.names.borrow();
        let above = |of| names.iter().find(|(_, node)| matches!(node, Node::Directory(it) if *it == of));
        std::iter::successors(Some(inner), |of| above(*of).map(|((above, _), _)| *above)).any(|it| it == outer)
    }

    /// Fails if the test injected a fault here.
    fn change(&self) -> FsResult<()> {
        match self.left.get() {
            0 => {
                self.left.set(if self.crashes.get() { 0 } else { u64::MAX });
                Err(Fault::NoSpace)
            }
            left => {
                self.left.set(left.saturating_sub(1));
                Ok(())
            }
        }
    }
}

impl Filesystem for TableFs {
    fn preopens(&self) -> Vec<Preopen> {
        TOPS.map(|(path, number)| Preopen { guest_path: path.to_owned(), dir: Dir(Rc::new(number)) }).into()
    }

    fn open_dir(&self, dir: &Dir, name: &str) -> FsResult<Dir> {
        match self.find(dir, name)? {
            Node::Directory(number) => Ok(Dir(Rc::new(number))),
            Node::File(_) => Err(Fault::NotDirectory),
        }
    }

    fn is_same_dir(&self, dir: &Dir, other: &Dir) -> FsResult<bool> {
        Ok(number(dir)? == number(other)?)
    }

    fn open_file(&self, dir: &Dir, name: &str, mode: Open) -> FsResult<File> {
        if mode == Open::CreateNew {
            self.add(dir, name, Node::File(Bytes::default()))?;
        }
        match self.find(dir, name)? {
            Node::File(bytes) => Ok(File(bytes as Rc<dyn Any>)),
            Node::Directory(_) => Err(Fault::IsDirectory),
        }
    }

    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        let (names, number) = (self.names.borrow(), number(dir)?);
        let below = names.range((number, String::new())..(number + 1, String::new()));
        let entry = |((_, name), node): (&(u64, String), &Node)| DirEntry { name: name.clone(), kind: node.kind() };
        Ok(Listing { entries: below.map(entry).collect(), ..Listing::default() })
    }

    fn stat(&self, dir: &Dir, name: &str) -> FsResult<Stat> {
        let node = self.find(dir, name)?;
        Ok(stat(node.kind(), if let Node::File(bytes) = &node { bytes.borrow().len() } else { 0 }))
    }

    fn stat_file(&self, file: &File) -> FsResult<Stat> {
        Ok(stat(Kind::File, bytes(file)?.borrow().len()))
    }

    fn stat_dir(&self, dir: &Dir) -> FsResult<Stat> {
        number(dir).map(|_| stat(Kind::Directory, 0))
    }

    fn read_link(&self, _dir: &Dir, _name: &str) -> FsResult<String> {
        Err(Fault::Unsupported)
    }

    fn read(&self, file: &File, offset: u64, max: usize, into: &mut Vec<u8>) -> FsResult<usize> {
        let bytes = bytes(file)?.borrow();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let part = &bytes[start..start.saturating_add(max).min(bytes.len())];
        into.extend_from_slice(part);
        Ok(part.len())
    }

    fn write(&self, file: &File, offset: u64, new: &[u8]) -> FsResult<()> {
        self.change()?;
        let end = offset.checked_add(new.len() as u64).filter(|end| *end <= MAX_OFFSET).ok_or(Fault::TooLarge)?;
        let (start, end) = (size(offset)?, size(end)?);
        let mut bytes = bytes(file)?.borrow_mut();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[start..end].copy_from_slice(new);
        Ok(())
    }

    fn set_size(&self, file: &File, to: u64) -> FsResult<()> {
        self.change()?;
        bytes(file)?.borrow_mut().resize(size(to)?, 0);
        Ok(())
    }

    fn sync_file(&self, _file: &File) -> FsResult<()> {
        self.change()
    }

    fn sync_dir(&self, _dir: &Dir) -> FsResult<()> {
        self.change()
    }

    fn make_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.add(dir, name, Node::Directory(self.next.replace(self.next.get() + 1)))
    }

    fn link(&self, _dir: &Dir, _name: &str, _to_dir: &Dir, _to: &str) -> FsResult<()> {
        Err(Fault::Unsupported)
    }

    fn symlink(&self, _dir: &Dir, _name: &str, _target: &str) -> FsResult<()> {
        Err(Fault::Unsupported)
    }

    fn rename(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        self.change()?;
        let moved = self.find(dir, name)?;
        match (&moved, self.find(to_dir, to)) {
            (Node::Directory(it), _) if self.holds(*it, number(to_dir)?) => {
                return Err(Fault::Io("a directory cannot be moved into itself".to_owned()));
            }
            (Node::Directory(_), Ok(Node::Directory(there))) if !self.is_empty(there) => return Err(Fault::NotEmpty),
            (Node::Directory(_), Ok(Node::File(_))) => return Err(Fault::NotDirectory),
            (Node::File(_), Ok(Node::Directory(_))) => return Err(Fault::IsDirectory),
            _ => {}
        }
        self.remove(dir, name)?;
        self.names.borrow_mut().insert((number(to_dir)?, to.to_owned()), moved);
        Ok(())
    }

    fn unlink(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.change()?;
        match self.find(dir, name)? {
            Node::File(_) => self.remove(dir, name),
            Node::Directory(_) => Err(Fault::IsDirectory),
        }
    }

    fn remove_dir(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.change()?;
        match self.find(dir, name)? {
            Node::Directory(number) if self.is_empty(number) => self.remove(dir, name),
            Node::Directory(_) => Err(Fault::NotEmpty),
            Node::File(_) => Err(Fault::NotDirectory),
        }
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

impl Node {
    fn kind(&self) -> Kind {
        match self {
            Self::Directory(_) => Kind::Directory,
            Self::File(_) => Kind::File,
        }
    }
}

fn stat(kind: Kind, size: usize) -> Stat {
    Stat { kind, size: size as u64, links: 1, modified: Some(NOW), accessed: Some(NOW), changed: Some(NOW) }
}

fn number(dir: &Dir) -> FsResult<u64> {
    dir.0.downcast_ref().copied().ok_or(Fault::Gone)
}

fn bytes(file: &File) -> FsResult<&RefCell<Vec<u8>>> {
    file.0.downcast_ref().ok_or(Fault::Gone)
}

fn size(size: u64) -> FsResult<usize> {
    usize::try_from(size).map_err(|_| Fault::TooLarge)
}
