//! Resolution of a program's paths, name by name from the top of the root through directory handles, so that another
//! process cannot redirect it. Links are followed here and stay in the root.

use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, ErrorCode};

use super::names::{self, View};

/// Maximum number of links on a path, as on most systems.
const MAX_LINKS: usize = 40;

/// Maximum length of a path in bytes, as on most systems.
const MAX_PATH: usize = 4096;

/// A path in a root without links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResolvedPath {
    /// Index of the root.
    pub(super) root: usize,
    /// Path from the top of the root; empty for the top itself.
    pub(super) path: String,
}

impl ResolvedPath {
    pub(super) fn below(&self, name: &str) -> Self {
        let between = if self.path.is_empty() { "" } else { "/" };
        Self { root: self.root, path: format!("{}{between}{name}", self.path) }
    }
}

/// A resolved entry.
pub(super) struct ResolvedEntry {
    /// Directory of the entry.
    pub(super) dir: Dir,
    /// Name of the entry in it; `.` for the top of a root.
    pub(super) name: String,
    pub(super) resolved: ResolvedPath,
    /// Kind of the entry itself; `None` if it does not exist.
    pub(super) kind: Option<DescriptorType>,
}

impl ResolvedEntry {
    pub(super) fn is_directory(&self) -> bool {
        self.kind == Some(DescriptorType::Directory)
    }
}

/// Reason why a path cannot be resolved.
pub(super) enum Lost {
    /// The path leads out of the root at this place.
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

/// Resolves `path` from the directory at `from`; `top` is the top of its root. With `follow`, a final link is followed
/// too.
pub(super) fn find(
    view: &mut View<'_>,
    top: &Dir,
    from: &ResolvedPath,
    path: &str,
    follow: bool,
) -> Result<ResolvedEntry, Lost> {
    let mut walk =
        Walk { top, root: from.root, above: Vec::new(), left: Vec::new(), links: 0, follow, wants_directory: false };
    walk.add(path)?;
    walk.left.extend(from.path.rsplit('/').map(str::to_owned));
    while let Some(name) = walk.left.pop() {
        match name.as_str() {
            "" | "." => {}
            ".." => walk.up()?,
            name => {
                if let Some(entry) = walk.down(view, name)? {
                    return Ok(entry);
                }
            }
        }
    }
    // The path ends at a directory that was entered already.
    let (name, _) = walk.above.pop().unwrap_or_else(|| (".".to_owned(), top.clone()));
    Ok(walk.resolved_entry(&name, Some(DescriptorType::Directory)))
}

struct Walk<'w> {
    top: &'w Dir,
    root: usize,
    /// Entered directories, the outermost first.
    above: Vec<(String, Dir)>,
    /// Remaining names, the next one last.
    left: Vec<String>,
    links: usize,
    follow: bool,
    /// Whether the path ends in `/`.
    wants_directory: bool,
}

impl Walk<'_> {
    /// Adds the names of a path before the remaining names.
    fn add(&mut self, path: &str) -> Result<(), Lost> {
        match path {
            "" => return Err(ErrorCode::NoEntry.into()),
            path if path.len() > MAX_PATH => return Err(ErrorCode::NameTooLong.into()),
            path if path.contains('\0') => return Err(ErrorCode::Invalid.into()),
            // On Windows these characters name a stream, a drive or a further path.
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

    /// Enters the directory of a name, or follows the link. Returns the entry if the path ends there.
    fn down(&mut self, view: &mut View<'_>, name: &str) -> Result<Option<ResolvedEntry>, Lost> {
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
            kind => Ok(Some(self.resolved_entry(name, kind))),
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

    fn resolved_entry(&self, name: &str, kind: Option<DescriptorType>) -> ResolvedEntry {
        let resolved = if name == "." { self.resolved() } else { self.resolved().below(name) };
        ResolvedEntry { dir: self.dir(), name: name.to_owned(), resolved, kind }
    }

    fn out(&self) -> Lost {
        Lost::Out(self.resolved())
    }
}
