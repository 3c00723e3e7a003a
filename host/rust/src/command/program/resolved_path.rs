//! Where a path of a program leads: walked name by name from the top of its root, through handles of directories, so
//! that nobody can put something else in the way. Links are followed here and stay in the root.

use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, ErrorCode};

use super::names::{self, View};

/// Links that one path may lead through, as most systems have it.
const MAX_LINKS: usize = 40;

/// Bytes of a path, as most systems have it.
const MAX_PATH: usize = 4096;

/// Somewhere in a root, by names that are no links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResolvedPath {
    /// Which root.
    pub(super) root: usize,
    /// From its top, with a `/` between names; nothing for the top itself.
    pub(super) path: String,
}

impl ResolvedPath {
    pub(super) fn below(&self, name: &str) -> Self {
        let between = if self.path.is_empty() { "" } else { "/" };
        Self { root: self.root, path: format!("{}{between}{name}", self.path) }
    }
}

/// What a path leads to.
pub(super) struct Found {
    /// The directory that it is in.
    pub(super) dir: Dir,
    /// Its name there; `.` for the top of a root.
    pub(super) name: String,
    pub(super) resolved: ResolvedPath,
    /// What is there, itself.
    pub(super) kind: Option<DescriptorType>,
}

impl Found {
    pub(super) fn is_directory(&self) -> bool {
        self.kind == Some(DescriptorType::Directory)
    }
}

/// Why a path leads nowhere.
pub(super) enum Lost {
    /// It leads out of the root there.
    Out(ResolvedPath),
    Fs(FsError),
}

impl From<FsError> for Lost {
    fn from(error: FsError) -> Self {
        Self::Fs(error)
    }
}

impl From<ErrorCode> for Lost {
    fn from(code: ErrorCode) -> Self {
        Self::Fs(code.into())
    }
}

/// Walks `path` from the directory at `from`; `top` is that of its root. With `follow`, what it leads to is no link.
pub(super) fn find(
    view: &mut View<'_>,
    top: &Dir,
    from: &ResolvedPath,
    path: &str,
    follow: bool,
) -> Result<Found, Lost> {
    let mut walk =
        Walk { top, root: from.root, above: Vec::new(), left: Vec::new(), links: 0, follow, wants_directory: false };
    walk.add(path)?;
    walk.left.extend(from.path.rsplit('/').map(str::to_owned));
    while let Some(name) = walk.left.pop() {
        match name.as_str() {
            "" | "." => {}
            ".." => walk.up()?,
            name => {
                if let Some(found) = walk.down(view, name)? {
                    return Ok(found);
                }
            }
        }
    }
    // What the path ends at was gone into already.
    let (name, _) = walk.above.pop().unwrap_or_else(|| (".".to_owned(), top.clone()));
    Ok(walk.found(&name, Some(DescriptorType::Directory)))
}

struct Walk<'w> {
    top: &'w Dir,
    root: usize,
    /// The directories that it has gone down into.
    above: Vec<(String, Dir)>,
    /// The names that are left, the next one last.
    left: Vec<String>,
    links: usize,
    follow: bool,
    /// The path ends in `/`.
    wants_directory: bool,
}

impl Walk<'_> {
    /// Puts a path before what is left.
    fn add(&mut self, path: &str) -> Result<(), Lost> {
        match path {
            "" => return Err(ErrorCode::NoEntry.into()),
            path if path.len() > MAX_PATH => return Err(ErrorCode::NameTooLong.into()),
            path if path.contains('\0') => return Err(ErrorCode::Invalid.into()),
            // Where that is no name but part of one: of a stream, a drive, or a path.
            path if cfg!(windows) && path.contains([':', '\\']) => return Err(ErrorCode::Invalid.into()),
            path if path.starts_with('/') => return Err(self.out()),
            _ => {}
        }
        self.wants_directory |= self.left.is_empty() && path.ends_with('/');
        self.left.extend(path.trim_end_matches('/').rsplit('/').map(str::to_owned));
        Ok(())
    }

    fn up(&mut self) -> Result<(), Lost> {
        match self.above.pop() {
            Some(_) => Ok(()),
            None => Err(self.out()),
        }
    }

    /// Goes down to a name, or follows it where it is a link. What it is, where the path ends there.
    fn down(&mut self, view: &mut View<'_>, name: &str) -> Result<Option<Found>, Lost> {
        let dir = self.dir();
        if !self.left.is_empty() {
            match names::open_dir(view, &dir, name) {
                Ok(below) => self.above.push((name.to_owned(), below)),
                Err(error) => match names::kind(view, &dir, name)? {
                    Some(DescriptorType::SymbolicLink) => self.follow(view, &dir, name)?,
                    _ => return Err(error.into()),
                },
            }
            return Ok(None);
        }
        match names::kind(view, &dir, name)? {
            Some(DescriptorType::SymbolicLink) if self.follow || self.wants_directory => {
                self.follow(view, &dir, name)?;
                Ok(None)
            }
            Some(kind) if self.wants_directory && kind != DescriptorType::Directory => {
                Err(ErrorCode::NotDirectory.into())
            }
            kind => Ok(Some(self.found(name, kind))),
        }
    }

    fn follow(&mut self, view: &mut View<'_>, dir: &Dir, name: &str) -> Result<(), Lost> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(ErrorCode::Loop.into());
        }
        let target = names::read_link(view, dir, name)?;
        self.add(&target)
    }

    fn dir(&self) -> Dir {
        self.above.last().map_or(self.top, |(_, dir)| dir).clone()
    }

    fn resolved(&self) -> ResolvedPath {
        let path = self.above.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("/");
        ResolvedPath { root: self.root, path }
    }

    fn found(&self, name: &str, kind: Option<DescriptorType>) -> Found {
        let resolved = if name == "." { self.resolved() } else { self.resolved().below(name) };
        Found { dir: self.dir(), name: name.to_owned(), resolved, kind }
    }

    fn out(&self) -> Lost {
        Lost::Out(self.resolved())
    }
}
