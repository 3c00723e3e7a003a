//! Resolution of a path, name by name, with a record of each link on it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::{Directory, HeldEntry, Identity};

/// Maximum number of symbolic links on a path, as on Linux.
const MAX_LINKS: usize = 40;

/// A resolved path.
#[derive(Debug)]
pub(crate) struct Walk {
    /// The deepest existing directory on the path.
    pub(crate) directory: Directory,
    /// Names after that directory, of which the first does not exist.
    pub(crate) missing: Vec<OsString>,
    /// Name of the last entry of the path if it exists and is not a directory.
    pub(crate) file: Option<OsString>,
    pub(crate) links: Vec<Link>,
}

/// A symbolic link on the path.
#[derive(Debug)]
pub(crate) struct Link {
    /// Path of the link itself.
    pub(crate) path: PathBuf,
    /// The link itself.
    pub(crate) entry: Arc<HeldEntry>,
    /// Directories above the link, from the top of the file system.
    holders: Vec<Identity>,
}

impl Walk {
    /// Resolves a path. Fails if an entry before its end is not a directory or cannot be opened.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let mut follower = Follower::at_top(&path)?;
        while let Some(name) = follower.ahead.pop_front() {
            follower.step(&name)?;
        }
        follower.finish()
    }

    /// Returns the directory at the end of the path. Fails if it does not exist or is not a directory.
    pub(crate) fn end(self) -> io::Result<Directory> {
        match (self.missing.is_empty(), self.file) {
            (true, None) => Ok(self.directory),
            (true, Some(_)) => Err(io::ErrorKind::NotADirectory.into()),
            (false, _) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Returns the resolved path, without links.
    pub(crate) fn path(&self) -> PathBuf {
        self.missing.iter().chain(&self.file).fold(self.directory.path().to_owned(), |path, name| path.join(name))
    }

    /// Returns the resolved path relative to `root`, if it is in `root`. Directories are compared by device and inode,
    /// so that a second mount of the root is recognized.
    pub(crate) fn below(&self, root: &Directory) -> Option<PathBuf> {
        let holders = self.directory.ancestors().iter().copied().chain([self.directory.identity()]);
        from(root, holders, &self.path())
    }

    /// Returns the links on the path that are in `root`, relative to `root`.
    pub(crate) fn links_below(&self, root: &Directory) -> impl Iterator<Item = PathBuf> {
        self.links.iter().filter_map(|link| from(root, link.holders.iter().copied(), &link.path))
    }

    /// Returns whether a link in `root` leads out of `root`: the content of the root then decides where the path leads.
    pub(crate) fn leaves(&self, root: &Directory) -> bool {
        let is_in_root = |link: &Link| link.holders.contains(&root.identity());
        self.links.iter().any(is_in_root) && !self.directory.is_in(root.identity())
    }

    /// Returns whether the path ends in `root` or goes through a link in `root`.
    #[cfg(all(target_os = "linux", feature = "commands"))]
    pub(crate) fn touches(&self, root: &Directory) -> bool {
        let root = root.identity();
        self.directory.is_in(root) || self.links.iter().any(|link| link.holders.contains(&root))
    }
}

/// Returns the rest of a path after `root`. `holders` are the directories on the path, from the top of the file system.
fn from(root: &Directory, mut holders: impl Iterator<Item = Identity>, path: &Path) -> Option<PathBuf> {
    let depth = holders.position(|holder| holder == root.identity())?;
    Some(names(path).skip(depth).collect())
}

/// State of the resolution.
struct Follower {
    top: Dir,
    top_path: PathBuf,
    top_identity: Identity,
    /// Directories passed so far, each with its name.
    passed: Vec<(OsString, Dir, Identity)>,
    missing: Vec<OsString>,
    file: Option<OsString>,
    links: Vec<Link>,
    ahead: VecDeque<OsString>,
}

impl Follower {
    fn at_top(path: &Path) -> io::Result<Self> {
        let is_top = |part: &Component<'_>| matches!(part, Component::Prefix(_) | Component::RootDir);
        let top_path: PathBuf = path.components().take_while(is_top).collect();
        let top = Dir::open_ambient_dir(&top_path, ambient_authority())?;
        let top_identity = Identity::of(&top.dir_metadata()?);
        let (passed, missing, links) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { top, top_path, top_identity, passed, missing, file: None, links, ahead: names(path).collect() })
    }

    fn step(&mut self, name: &OsStr) -> io::Result<()> {
        if name == ".." {
            if self.missing.pop().is_none() {
                self.passed.pop();
            }
            return Ok(());
        }
        if !self.missing.is_empty() {
            self.missing.push(name.to_owned());
            return Ok(());
        }
        match self.current().open_dir_nofollow(name) {
            Ok(dir) => {
                let identity = Identity::of(&dir.dir_metadata()?);
                self.passed.push((name.to_owned(), dir, identity));
                Ok(())
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                self.missing.push(name.to_owned());
                Ok(())
            }
            Err(cause) => self.follow(name, cause),
        }
    }

    /// Puts the target of the link `name` before the remaining names. `cause` is the error of opening it as a
    /// directory.
    fn follow(&mut self, name: &OsStr, cause: io::Error) -> io::Result<()> {
        let metadata = self.current().symlink_metadata(name)?;
        if !metadata.is_symlink() {
            if metadata.is_dir() || !self.ahead.is_empty() {
                return Err(cause);
            }
            self.file = Some(name.to_owned());
            return Ok(());
        }
        let target = self.current().read_link_contents(name)?;
        if self.links.len() >= MAX_LINKS {
            return Err(io::Error::other("it passes through too many symbolic links, or through a loop of links"));
        }
        let (holders, entry) = (self.identities().collect(), Arc::new(HeldEntry::open(self.current(), name)?));
        self.links.push(Link { path: self.path().join(name), entry, holders });
        if target.has_root() {
            let top = Self::at_top(&self.top_path.join(&target))?;
            (self.top, self.top_path, self.top_identity) = (top.top, top.top_path, top.top_identity);
            self.passed.clear();
        }
        names(&target).collect::<Vec<_>>().into_iter().rev().for_each(|name| self.ahead.push_front(name));
        Ok(())
    }

    fn finish(mut self) -> io::Result<Walk> {
        let path = self.path();
        let mut ancestors: Vec<_> = self.identities().collect();
        ancestors.pop();
        let dir = self.passed.pop().map_or(self.top, |(_, dir, _)| dir);
        let directory = Directory::new(dir, ancestors, path)?;
        Ok(Walk { directory, missing: self.missing, file: self.file, links: self.links })
    }

    fn current(&self) -> &Dir {
        self.passed.last().map_or(&self.top, |(_, dir, _)| dir)
    }

    fn identities(&self) -> impl Iterator<Item = Identity> {
        std::iter::once(self.top_identity).chain(self.passed.iter().map(|(_, _, identity)| *identity))
    }

    fn path(&self) -> PathBuf {
        self.passed.iter().fold(self.top_path.clone(), |path, (name, ..)| path.join(name))
    }
}

fn names(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    named.map(|part| part.as_os_str().to_owned())
}
