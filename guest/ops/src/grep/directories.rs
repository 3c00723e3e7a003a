//! Opens the directories of files that another instance has found, or that a walk of names has.

use paddock_types::entry::Kind;
use paddock_types::error::Result;
use paddock_types::path::is_at_or_below;
use paddock_vfs::{Dir, Fault, FsResult};
use paddock_workspace::Workspace;
use paddock_workspace::ignore_rules::AgentIgnore;
use paddock_workspace::resolved_path::ResolvedPath;

use crate::grep::file::Files;
use crate::grep::page::{End, Within};

/// The directory of the current file, and those above it.
pub struct Directories<'w> {
    workspace: &'w Workspace<'w>,
    /// Path of the searched directory in results, followed by the path of the current file.
    path: String,
    /// Lengths of the part of `path` for the searched directory, and of that for the directory of the current file.
    base: usize,
    above: usize,
    /// Open directories from the searched directory down, each with its path below it.
    opened: Vec<(String, Dir)>,
    /// The rules of these directories: another one than the walk has listed can have taken the place of a directory.
    agent_ignore: AgentIgnore,
    /// The directory of the current file.
    current: FsResult<Dir>,
}

impl<'w> Directories<'w> {
    /// Starts at a directory, which is the searched one.
    pub fn below(workspace: &'w Workspace<'w>, resolved: &ResolvedPath, dir: Dir) -> Result<Self> {
        let mut agent_ignore = resolved.agent_ignore.clone();
        if !resolved.is_root() {
            agent_ignore.enter(&resolved.name, &dir, workspace.fs)?;
        }
        let path = resolved.base();
        let (base, above) = (path.len(), path.len());
        let opened = vec![(String::new(), dir.clone())];
        Ok(Self { workspace, path, base, above, opened, agent_ignore, current: Ok(dir) })
    }

    /// Makes a directory the current one.
    pub fn enter(&mut self, below: &str) {
        self.path.truncate(self.base);
        self.path.push_str(below);
        if !below.is_empty() {
            self.path.push('/');
        }
        self.above = self.path.len();
        self.current = self.open(below);
    }

    /// Searches a file of the current directory. One that cannot be searched is counted as skipped.
    pub fn search(&mut self, files: &mut Files<'_>, name: &str, within: Within) -> End {
        let dir = match &self.current {
            Ok(_) if self.agent_ignore.denies(name, Kind::File) => {
                files.page.result.skipped.denied += 1;
                return End::Whole;
            }
            Ok(dir) => dir,
            Err(fault) => {
                files.count(fault);
                return End::Whole;
            }
        };
        self.path.truncate(self.above);
        self.path.push_str(name);
        files.one_of_many(dir, name, &self.path, within)
    }

    /// Opens a directory name by name, starting at the deepest open one.
    fn open(&mut self, path: &str) -> FsResult<Dir> {
        while self.opened.len() > 1 && self.opened.last().is_some_and(|(above, _)| !is_at_or_below(path, above)) {
            self.opened.pop();
            self.agent_ignore.leave();
        }
        let (above, dir) = self.opened.last().ok_or(Fault::Gone)?;
        let (mut at, mut dir) = (above.clone(), dir.clone());
        let rest = path.get(at.len()..).unwrap_or_default();
        for name in rest.split('/').filter(|name| !name.is_empty()) {
            if self.agent_ignore.denies(name, Kind::Directory) {
                return Err(Fault::Access);
            }
            dir = self.workspace.fs.open_dir(&dir, name)?;
            self.agent_ignore.enter(name, &dir, self.workspace.fs).map_err(|_| Fault::Access)?;
            if !at.is_empty() {
                at.push('/');
            }
            at.push_str(name);
            self.opened.push((at.clone(), dir.clone()));
        }
        Ok(dir)
    }
}
