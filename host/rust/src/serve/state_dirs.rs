//! State directories of the workspaces and of their parts: the directories that tokens with a `path` make roots.
//!
//! Each root has journals of its own, and a change that was cut off is completed or undone by the next call with the same
//! root. So that no caller sees a part of a change by another token, the server looks for journals of the other roots
//! before each call.

use std::io;
use std::path::PathBuf;

use super::narrowing::InnerPath;
use crate::directory::{Deferred, Directory, Walk};
use crate::state::{self, StateDir};
use crate::user_directories;

/// Suffix of the directory that has the state directories of the parts. No name of a workspace contains it.
const PARTS: char = '@';

/// Name of the directory of the locks that all servers with this state directory take.
const LOCKS: &str = "@locks";

/// Name of the directory of the files by which servers find out whether locks exclude other servers.
const SERVERS: &str = "@servers";

/// The parent directory of the state directories.
pub(super) struct StateDirs {
    parent: Option<Deferred>,
    /// Whether the configuration names it. Otherwise it is the user's own.
    is_configured: bool,
}

impl StateDirs {
    /// Opens the directory that the configuration names, if any. It may not exist yet.
    pub(super) fn new(configured: Option<PathBuf>) -> io::Result<Self> {
        let is_configured = configured.is_some();
        let parent = configured.or_else(user_directories::state).map(|path| Walk::new(&path).and_then(Deferred::new));
        match parent.transpose() {
            Ok(parent) => Ok(Self { parent, is_configured }),
            Err(cause) if is_configured => Err(cause),
            // Without a directory of the user, nothing has a state directory there.
            Err(_) => Ok(Self { parent: None, is_configured }),
        }
    }

    /// Returns the path of the state directory of a workspace, or of a part of the directory of a workspace; `None` for the
    /// default.
    pub(super) fn path(&self, name: &str, part: Option<(&Directory, &InnerPath)>) -> Option<PathBuf> {
        let parent = self.parent.as_ref()?.path();
        match part {
            Some((root, part)) => Some(parent.join(format!("{}{PARTS}", self.whole(name, root))).join(part.to_name())),
            None => self.is_configured.then(|| parent.join(name)),
        }
    }

    /// Returns the directory of the locks that servers of other users and machines take too.
    pub(super) fn shared_locks(&self) -> Option<PathBuf> {
        let parent = self.parent.as_ref().filter(|_| self.is_configured);
        parent.map(|parent| parent.path().join(LOCKS))
    }

    /// Creates the directory of the files by which servers find out whether locks work; `None` if the servers share no state
    /// directory.
    pub(super) fn signs(&self) -> Option<io::Result<Directory>> {
        let parent = self.parent.as_ref().filter(|_| self.is_configured);
        parent.map(|parent| parent.below(&[SERVERS]).create())
    }

    /// Returns the parts of a workspace whose state directories have a journal, apart from the caller's. `None` is the whole
    /// workspace.
    pub(super) fn unfinished(&self, name: &str, root: &Directory, own: Option<&InnerPath>) -> Vec<Option<InnerPath>> {
        let Some(parent) = self.parent.as_ref().and_then(Deferred::get) else { return Vec::new() };
        let whole = self.whole(name, root);
        let has_journal = |parent: &Directory, name: &str| {
            parent.subdirectory(name).is_ok_and(|directory| StateDir::has_journal(&directory))
        };
        let mut unfinished = Vec::new();
        if own.is_some() && has_journal(&parent, &whole) {
            unfinished.push(None);
        }
        if let Ok(parts) = parent.subdirectory(format!("{whole}{PARTS}")) {
            let parsed = parts.names().filter_map(|name| InnerPath::from_name(name.to_str()?));
            let others = parsed.filter(|part| Some(part) != own && has_journal(&parts, &part.to_name()));
            unfinished.extend(others.map(Some));
        }
        unfinished
    }

    fn whole(&self, name: &str, root: &Directory) -> String {
        if self.is_configured { name.to_owned() } else { state::name(root.path()) }
    }
}
