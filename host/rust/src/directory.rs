//! Directories that the host opens once and holds.
//!
//! Whatever is done in such a directory goes through its descriptor. A path is followed when the workspace opens, and
//! never again: whoever renames, replaces or links something on that path afterwards does not change which directory
//! it is.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, File, Metadata, OpenOptions};
use wasmtime_wasi::filesystem::Dir as GuestDir;
use wasmtime_wasi::{FsPerms, OpenMode};

use crate::policy::Access;
use crate::regular::Refused;

/// Symbolic links that one path may go through, as on Linux.
const MAX_LINKS: usize = 40;

/// Device and inode number: the same for one file or directory, by whatever path it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(crate) fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    pub(crate) fn device(self) -> u64 {
        self.device
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn inode(self) -> u64 {
        self.inode
    }

    /// That of an open file.
    pub(crate) fn of_file(file: &std::fs::File) -> io::Result<Self> {
        Ok(Self::of(&Metadata::from_file(file)?))
    }

    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// A directory that is held open. Clones hold the same descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Directory(Arc<Held>);

struct Held {
    dir: Dir,
    /// The same descriptor as a guest gets it.
    guest: GuestDir,
    identity: Identity,
    /// Directories that held it when it was opened, from the top of the file system to its parent.
    ancestors: Vec<Identity>,
    /// Its path without links when it was opened.
    path: PathBuf,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Directory").field("path", &self.path).field("identity", &self.identity).finish()
    }
}

impl Directory {
    /// Opens the directory that `path` leads to now, through links.
    #[cfg(test)]
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Walk::new(path)?.end()
    }

    /// A directory that is open already, with the path by which it is shown.
    pub(crate) fn from_file(file: std::fs::File, path: PathBuf) -> io::Result<Self> {
        let dir = Dir::from_std_file(file);
        let ancestors = climb(&dir)?;
        Self::new(dir, ancestors, path)
    }

    fn new(dir: Dir, ancestors: Vec<Identity>, path: PathBuf) -> io::Result<Self> {
        let identity = Identity::of(&dir.dir_metadata()?);
        let guest = dir.try_clone()?.into_std_file();
        let guest = GuestDir::new(guest, FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE, true);
        Ok(Self(Arc::new(Held { dir, guest, identity, ancestors, path })))
    }

    pub(crate) fn identity(&self) -> Identity {
        self.0.identity
    }

    /// Directories that held it when it was opened, the outermost first.
    pub(crate) fn ancestors(&self) -> &[Identity] {
        &self.0.ancestors
    }

    /// Its path without links when it was opened: for people, and for what compares names. Nothing is opened by it.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether it is `other`, or was in `other` when it was opened.
    pub(crate) fn is_in(&self, other: Identity) -> bool {
        self.0.identity == other || self.0.ancestors.contains(&other)
    }

    pub(crate) fn metadata(&self) -> io::Result<std::fs::Metadata> {
        self.0.guest.dir.metadata()
    }

    /// The open directory itself.
    #[cfg(target_os = "linux")]
    pub(crate) fn file(&self) -> &Arc<std::fs::File> {
        &self.0.guest.dir
    }

    /// The directory that these names lead to, each the name of a directory in the one before; a link is an error.
    pub(crate) fn descend<'n>(&self, names: impl IntoIterator<Item = &'n OsStr>) -> io::Result<Self> {
        names.into_iter().try_fold(self.clone(), |directory, name| directory.subdirectory(name))
    }

    /// Whether it has no name any more.
    pub(crate) fn is_deleted(&self) -> bool {
        self.0.dir.dir_metadata().is_ok_and(|metadata| metadata.nlink() == 0)
    }

    /// As a guest gets it, with no right that it is not to have.
    pub(crate) fn for_guest(&self, access: Access) -> GuestDir {
        let mut dir = self.0.guest.clone();
        if access == Access::ReadOnly {
            (dir.perms, dir.open_mode) = (FsPerms::ReadOnly, OpenMode::READ);
        }
        dir
    }

    /// The directory that holds it, and its name there; none at the top of the file system.
    fn parent(&self) -> Option<(Self, OsString)> {
        let (ancestors, name) = (self.0.ancestors.split_last()?.1.to_vec(), self.0.path.file_name()?.to_owned());
        let above = self.0.dir.open_parent_dir(ambient_authority()).ok()?;
        let above = Self::new(above, ancestors, self.0.path.parent()?.to_owned()).ok()?;
        (above.identity_of(&name) == Some(self.0.identity)).then_some((above, name))
    }

    /// What is done in it by name. A name never leads out of it.
    pub(crate) fn entries(&self) -> &Dir {
        &self.0.dir
    }

    /// The directory `name` in it; a link there is an error.
    pub(crate) fn subdirectory(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        let dir = self.0.dir.open_dir_nofollow(name)?;
        let ancestors = self.0.ancestors.iter().copied().chain([self.0.identity]).collect();
        Self::new(dir, ancestors, self.0.path.join(name))
    }

    /// The same, made for its owner alone where it is not there.
    pub(crate) fn create_subdirectory(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        match self.0.dir.create_dir_with(name, &private_directory()) {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => Err(cause),
            _ => self.subdirectory(name),
        }
    }

    /// Opens the file `name` in it; a link there is an error.
    pub(crate) fn open_file(&self, name: impl AsRef<OsStr>, options: &mut OpenOptions) -> io::Result<std::fs::File> {
        let opened = self.0.dir.open_with(name.as_ref(), options.follow(FollowSymlinks::No));
        opened.map(File::into_std)
    }

    /// The same, of a regular file alone: a FIFO in its place does not hang the caller.
    pub(crate) fn open_regular(&self, name: &OsStr, options: &mut OpenOptions) -> Result<std::fs::File, Refused> {
        let file = self.open_file(name, options.nonblock(true))?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(Refused::NotRegular) }
    }

    /// What has that name in it, itself; none where nothing has.
    pub(crate) fn identity_of(&self, name: impl AsRef<OsStr>) -> Option<Identity> {
        self.0.dir.symlink_metadata(name.as_ref()).ok().map(|metadata| Identity::of(&metadata))
    }
}

/// The directories that hold a directory now, the outermost first.
fn climb(dir: &Dir) -> io::Result<Vec<Identity>> {
    let mut ancestors = VecDeque::new();
    let mut identity = Identity::of(&dir.dir_metadata()?);
    let mut above = dir.open_parent_dir(ambient_authority())?;
    loop {
        let next = Identity::of(&above.dir_metadata()?);
        // The top of a file system is its own parent.
        if next == identity {
            return Ok(ancestors.into());
        }
        ancestors.push_front(next);
        (identity, above) = (next, above.open_parent_dir(ambient_authority())?);
    }
}

/// How a directory of Paddock's own is made: for its owner alone.
pub(crate) fn private_directory() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// How a file of Paddock's own is opened for writing: where it is made, for its owner alone.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true);
    options
}

/// A path, followed name by name.
#[derive(Debug)]
pub(crate) struct Walk {
    /// The deepest directory on it that exists.
    pub(crate) directory: Directory,
    /// The names after that directory, of which the first does not exist.
    pub(crate) missing: Vec<OsString>,
    /// The name in that directory of what is no directory, where the path ends at such a thing.
    pub(crate) file: Option<OsString>,
    pub(crate) links: Vec<Link>,
}

/// A symbolic link on the way.
#[derive(Debug)]
pub(crate) struct Link {
    /// Its own path.
    pub(crate) path: PathBuf,
    /// What it is itself.
    pub(crate) identity: Identity,
    /// The directories that hold it, from the top of the file system.
    holders: Vec<Identity>,
}

impl Walk {
    /// Follows a path. Fails where something on the way is no directory, or cannot be opened.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let mut follower = Follower::at_top(&path)?;
        while let Some(name) = follower.ahead.pop_front() {
            follower.step(&name)?;
        }
        follower.finish()
    }

    /// The directory that it leads to. Fails where that does not exist, or is no directory.
    pub(crate) fn end(self) -> io::Result<Directory> {
        match (self.missing.is_empty(), self.file) {
            (true, None) => Ok(self.directory),
            (true, Some(_)) => Err(io::ErrorKind::NotADirectory.into()),
            (false, _) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Where it leads, without links.
    pub(crate) fn path(&self) -> PathBuf {
        self.missing.iter().chain(&self.file).fold(self.directory.path().to_owned(), |path, name| path.join(name))
    }

    /// Where it leads from the top of `root`, where that is in it: by device and inode, so that a root that is mounted
    /// elsewhere a second time is known too.
    pub(crate) fn below(&self, root: &Directory) -> Option<PathBuf> {
        let holders = self.directory.ancestors().iter().copied().chain([self.directory.identity()]);
        from(root, holders, &self.path())
    }

    /// The links on it that are in `root`, each from its top.
    pub(crate) fn links_below(&self, root: &Directory) -> impl Iterator<Item = PathBuf> {
        self.links.iter().filter_map(|link| from(root, link.holders.iter().copied(), &link.path))
    }

    /// Whether a link in `root` leads out of `root`: then what is in the root decides where the path leads.
    pub(crate) fn leaves(&self, root: &Directory) -> bool {
        let is_in_root = |link: &Link| link.holders.contains(&root.identity());
        self.links.iter().any(is_in_root) && !self.directory.is_in(root.identity())
    }

    /// Whether it ends in `root`, or goes through a link there.
    #[cfg(target_os = "linux")]
    pub(crate) fn touches(&self, root: &Directory) -> bool {
        let root = root.identity();
        self.directory.is_in(root) || self.links.iter().any(|link| link.holders.contains(&root))
    }
}

/// What is left of a path behind `root`; `holders` are the directories on it, from the top of the file system.
fn from(root: &Directory, mut holders: impl Iterator<Item = Identity>, path: &Path) -> Option<PathBuf> {
    let depth = holders.position(|holder| holder == root.identity())?;
    Some(names(path).skip(depth).collect())
}

/// How far a path was followed.
struct Follower {
    top: Dir,
    top_path: PathBuf,
    top_identity: Identity,
    /// Directories below the top, each with its name.
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

    /// Puts what the link `name` says in front of what is still to come; `cause` is why it is no directory.
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
            return Err(io::Error::other("it goes through too many symbolic links, or round in a loop"));
        }
        let (holders, identity) = (self.identities().collect(), Identity::of(&metadata));
        self.links.push(Link { path: self.path().join(name), identity, holders });
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

/// A directory of Paddock's own, which may have to be made first: below a directory that is held.
#[derive(Clone, Debug)]
pub(crate) struct Deferred(Arc<Awaited>);

#[derive(Debug)]
struct Awaited {
    above: Directory,
    names: Vec<OsString>,
    opened: Mutex<Option<Directory>>,
}

impl Deferred {
    /// The directory that a path leads to, or that is to be made there. Fails where that is no directory.
    pub(crate) fn new(walk: Walk) -> io::Result<Self> {
        let Walk { directory, missing: names, file, .. } = walk;
        if file.is_some() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        // One that is there is held by its parent too, so that it can be made again where somebody deletes it.
        let parent = Some(()).filter(|()| names.is_empty()).and_then(|()| directory.parent());
        Ok(match parent {
            Some((above, name)) => Self::with(above, vec![name], Some(directory)),
            None if names.is_empty() => Self::with(directory.clone(), names, Some(directory)),
            None => Self::with(directory, names, None),
        })
    }

    fn with(above: Directory, names: Vec<OsString>, opened: Option<Directory>) -> Self {
        Self(Arc::new(Awaited { above, names, opened: Mutex::new(opened) }))
    }

    /// The directory at these names below this one.
    pub(crate) fn below(&self, names: &[&str]) -> Self {
        let names = self.0.names.iter().cloned().chain(names.iter().map(OsString::from)).collect();
        Self::with(self.0.above.clone(), names, None)
    }

    /// Its path, whether it is there or not: for people.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.names.iter().fold(self.0.above.path().to_owned(), |path, name| path.join(name))
    }

    /// The directory, if it is there.
    pub(crate) fn get(&self) -> Option<Directory> {
        self.reach(|above, name| above.subdirectory(name)).ok()
    }

    /// The directory, made for its owner alone if need be.
    pub(crate) fn create(&self) -> io::Result<Directory> {
        self.reach(|above, name| above.create_subdirectory(name))
    }

    /// The directory that is held. Where it was deleted, the one that has its place now below the directory above.
    fn reach(&self, open: impl Fn(&Directory, &OsString) -> io::Result<Directory>) -> io::Result<Directory> {
        let mut opened = self.0.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = opened.as_ref().filter(|held| !held.is_deleted()) {
            return Ok(held.clone());
        }
        let above = self.0.above.clone();
        let directory = self.0.names.iter().try_fold(above, |above, name| open(&above, name))?;
        Ok(opened.insert(directory).clone())
    }
}

#[cfg(test)]
mod tests;
