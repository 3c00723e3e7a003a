//! State directories of the workspaces and of their parts: the directories that tokens with a `path` make roots.

use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::journals::{Ignored, Journals};
use super::narrowing::InnerPath;
use crate::directory::{Deferred, Directory, Walk};
use crate::state;
use crate::user_directories;

/// Character before the time at which the directory of a template's workspace was created. No name of a workspace contains
/// it.
const CREATED: char = '+';

/// Name of the directory of the locks that all servers with this state directory take.
const LOCKS: &str = "@locks";

/// Name of the directory of the heartbeats, by which servers find out whether locks exclude other servers.
const SERVERS: &str = "@servers";

/// The directory of a workspace.
#[derive(Clone, Copy)]
pub(super) enum Origin<'d> {
    /// The configuration names it.
    Configured(&'d Directory),
    /// A directory in the parent directory of a template, which another one can replace.
    Template(&'d Directory),
}

/// Resolves the path of a directory of the server. Fails if it is in one of the roots, where tools could read and change the
/// state of all workspaces.
pub(super) fn outside(path: &Path, roots: &[&Directory]) -> io::Result<Walk> {
    let walk = Walk::new(path)?;
    match roots.iter().any(|root| walk.directory.is_in(root.identity())) {
        true => Err(io::Error::other("it has to be outside of all workspaces and templates")),
        false => Ok(walk),
    }
}

impl<'d> Origin<'d> {
    fn directory(self) -> &'d Directory {
        let (Self::Configured(directory) | Self::Template(directory)) = self;
        directory
    }
}

/// The parent directory of the state directories.
pub(super) struct StateDirs {
    parent: Option<Deferred>,
    /// Whether the configuration names it. Otherwise it is the user's own.
    is_configured: bool,
    ignored: Ignored,
}

impl StateDirs {
    /// Opens the directory that the configuration names, if any. It may not exist yet. Fails if it is in one of the roots.
    pub(super) fn new(configured: Option<PathBuf>, roots: &[&Directory]) -> io::Result<Self> {
        let (is_configured, ignored) = (configured.is_some(), Ignored::default());
        let open = |path: PathBuf| outside(&path, roots).and_then(Deferred::new);
        let parent = configured.or_else(user_directories::state).map(open);
        match parent.transpose() {
            Ok(parent) => Ok(Self { parent, is_configured, ignored }),
            Err(cause) if is_configured => Err(cause),
            // Without a directory of the user, nothing has a state directory there.
            Err(_) => Ok(Self { parent: None, is_configured, ignored }),
        }
    }

    /// Returns the path of the state directory of a workspace, or of a part of its directory; `None` for the default.
    pub(super) fn path(&self, name: &str, origin: Option<Origin<'_>>, part: Option<&InnerPath>) -> Option<PathBuf> {
        let parent = self.parent.as_ref()?.path();
        match (origin, part) {
            (Some(origin), Some(part)) => {
                Some(parent.join(Journals::parts_name(&self.whole(name, origin))).join(part.to_name()))
            }
            (Some(origin @ Origin::Template(_)), None) => Some(parent.join(self.whole(name, origin))),
            _ => self.is_configured.then(|| parent.join(name)),
        }
    }

    /// Returns the directory of the locks that servers of other users and machines take too.
    pub(super) fn shared_locks(&self) -> Option<PathBuf> {
        let parent = self.parent.as_ref().filter(|_| self.is_configured);
        parent.map(|parent| parent.path().join(LOCKS))
    }

    /// Creates the directory of the heartbeats, by which servers find out whether locks work; `None` if the configuration
    /// names no state directory.
    pub(super) fn heartbeats(&self) -> Option<io::Result<Directory>> {
        let parent = self.parent.as_ref().filter(|_| self.is_configured);
        parent.map(|parent| parent.below(&[SERVERS]).create())
    }

    /// Returns the journals of a workspace.
    pub(super) fn journals(&self, name: &str, origin: Origin<'_>) -> Journals {
        let (whole, directory) = (self.whole(name, origin), origin.directory().clone());
        Journals::new(self.parent.clone(), whole, directory, self.ignored.clone())
    }

    /// Returns the name of the state directory of a workspace. That of a template contains the time at which the directory
    /// of the workspace was created: a later directory of the same name is another workspace, even if the file system gives
    /// it the same inode number, and its tools must not restore files of the earlier one.
    fn whole(&self, name: &str, origin: Origin<'_>) -> String {
        let root = origin.directory();
        let name = if self.is_configured { name.to_owned() } else { state::name(root.path()) };
        let created = root.metadata().and_then(|metadata| metadata.created()).ok();
        let since_epoch = created.and_then(|created| created.duration_since(UNIX_EPOCH).ok());
        match (origin, since_epoch) {
            (Origin::Template(_), Some(time)) => format!("{name}{CREATED}{:x}", time.as_nanos()),
            _ => name,
        }
    }
}
