//! Resolution of paths, component by component against directory handles. Links are read here and must stay inside; no
//! backend ever follows a link.

use crate::path_syntax::{SYSTEM_DIRECTORIES, check_home, check_name, check_path, components, ends_in_dir};
use paddock_types::path::{below, is_at_or_below, windows_path::slashed};
use std::collections::VecDeque;

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result};
use paddock_vfs::{Dir, Fault, Stat};

use crate::ignore_rules::AgentIgnore;
use crate::resolved_path::ResolvedPath;
use crate::{Root, Workspace};

/// Maximum number of links on one path, as on Linux.
const MAX_LINKS: usize = 40;

/// Whether a link that is the last component is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FollowSymlinks {
    /// The last component is followed if it is a link.
    Yes,
    /// The place is the link.
    No,
}

impl Workspace<'_> {
    /// Resolves `path` and follows a final link.
    pub fn resolve(&self, path: &str, operation: &str) -> Result<ResolvedPath> {
        self.resolve_with(path, operation, FollowSymlinks::Yes)
    }

    /// Resolves `path`.
    pub fn resolve_with(&self, path: &str, operation: &str, last: FollowSymlinks) -> Result<ResolvedPath> {
        let slashed = if self.policy.host.has_windows_paths() { Some(slashed(path)) } else { None };
        let sought = slashed.as_deref().unwrap_or(path);
        let (root, rest) = match self.root_of(sought, path, operation) {
            Err(error) if error.code == Code::OutsideWorkspace && self.starts_at_first_root(sought) => (0, sought),
            result => result?,
        };
        let resolved = self.walk(path, operation, (root, rest), last)?;
        match self.confined_to {
            Some(directory) => self.confined(resolved, directory, operation),
            None => Ok(resolved),
        }
    }

    /// Fails if a path is not in the directory that the call is confined to. The directory itself may be a link.
    fn confined(&self, resolved: ResolvedPath, directory: &str, operation: &str) -> Result<ResolvedPath> {
        let top = self.walk(directory, operation, (0, directory), FollowSymlinks::Yes)?;
        if is_at_or_below(&resolved.path, &top.path) {
            return Ok(resolved);
        }
        let cause = "a symbolic link on it leads out of the directory of the tool";
        Err(Error::at(Code::OutsideWorkspace, operation, &resolved.requested_path, cause))
    }

    /// Resolves `below`, the path in a root that `path` names.
    #[inline(never)]
    fn walk(
        &self,
        path: &str,
        operation: &str,
        (root, below): (usize, &str),
        last: FollowSymlinks,
    ) -> Result<ResolvedPath> {
        let mut walk = Resolution::new(self, path, operation, root)?;
        walk.push_back(below)?;
        walk.run(last)
    }

    /// Returns the index of the root of a path, and the path below it. Errors show the path as it was requested.
    fn root_of<'p>(&self, path: &'p str, requested: &str, operation: &str) -> Result<(usize, &'p str)> {
        check_path(path, operation)?;
        if !path.starts_with('/') {
            return Ok((0, path));
        }
        self.root_above(path, |root| &root.names).ok_or_else(|| self.outside(requested, operation, "it is in no root"))
    }

    /// Returns the index of the root with the longest of these names that `path` is below, and the path below it.
    fn root_above<'p>(&self, path: &'p str, names: fn(&Root) -> &[String]) -> Option<(usize, &'p str)> {
        let named = self.roots.iter().enumerate().flat_map(|(index, root)| {
            names(root).iter().filter_map(move |name| Some((index, name.len(), self.below_root(path, name)?)))
        });
        named.max_by_key(|(_, length, _)| *length).map(|(index, _, rest)| (index, rest))
    }

    /// Returns the path below the absolute name of a root. On Windows, letter case is ignored there.
    #[inline(never)]
    fn below_root<'p>(&self, path: &'p str, name: &str) -> Option<&'p str> {
        match path.get(..name.len()) {
            Some(top) if self.policy.host.has_windows_paths() && top.eq_ignore_ascii_case(name) => below(path, top),
            _ => below(path, name),
        }
    }

    /// Returns whether an absolute path that is in no root starts at the first root. A path that shares its first name
    /// with a root is one of the host.
    fn starts_at_first_root(&self, path: &str) -> bool {
        let Some(root) = self.roots.first().filter(|_| self.policy.slash_is_root) else { return false };
        let Some(top) = components(path).next() else { return true };
        let is_of_host = self.root_names().iter().any(|name| components(name).next() == Some(top));
        !is_of_host && (!SYSTEM_DIRECTORIES.contains(&top) || self.fs.stat(&root.dir, top).is_ok())
    }

    fn outside(&self, path: &str, operation: &str, cause: &str) -> Error {
        let others: Vec<_> = self
            .roots
            .iter()
            .map(|root| &root.label)
            .filter(|label| !label.is_empty())
            .map(|label| format!("`{label}`"))
            .collect();
        let error = Error::at(Code::OutsideWorkspace, operation, path, cause);
        match others.as_slice() {
            [] => error.hint("use a path relative to the workspace; `.` is its top"),
            others => error.hint(format!("use a path relative to the workspace, or one below {}", others.join(", "))),
        }
    }
}

/// State of the resolution of a path.
struct Resolution<'w> {
    workspace: &'w Workspace<'w>,
    requested_path: &'w str,
    operation: &'w str,
    root: usize,
    /// Directories passed below the root, each with its name and handle.
    ancestors: Vec<(String, Dir)>,
    /// Rules of `.agentignore` from the root down to the last component of `trail` and `missing`.
    agent_ignore: AgentIgnore,
    /// Names at the end of the path that do not exist.
    missing: Vec<String>,
    /// Components still to come.
    ahead: VecDeque<String>,
    /// Number of components at the end that come from the caller; the others come from links.
    own: usize,
    /// Whether the entry must be a directory, because a `/` follows its name.
    needs_dir: bool,
    links: usize,
}

impl<'w> Resolution<'w> {
    fn new(workspace: &'w Workspace<'w>, requested_path: &'w str, operation: &'w str, root: usize) -> Result<Self> {
        let mut resolution = Self {
            workspace,
            requested_path,
            operation,
            root,
            ancestors: Vec::new(),
            agent_ignore: AgentIgnore::default(),
            missing: Vec::new(),
            ahead: VecDeque::new(),
            own: 0,
            needs_dir: false,
            links: 0,
        };
        resolution.start(root)?;
        Ok(resolution)
    }

    /// Goes to the top of a root.
    fn start(&mut self, root: usize) -> Result<()> {
        self.root = root;
        self.ancestors.clear();
        self.agent_ignore = self.workspace.agent_ignore_of(root, self.requested_path, self.operation)?;
        Ok(())
    }

    fn push_back(&mut self, path: &str) -> Result<()> {
        self.needs_dir = ends_in_dir(path);
        self.ahead = components(path).map(str::to_owned).collect();
        self.own = self.ahead.len();
        self.ahead.iter().try_for_each(|name| check_name(name, self.requested_path, self.operation))
    }

    fn run(mut self, last: FollowSymlinks) -> Result<ResolvedPath> {
        while let Some(name) = self.ahead.pop_front() {
            let from_link = self.ahead.len() >= self.own;
            self.own = self.own.min(self.ahead.len());
            if name == ".." {
                self.up(from_link)?;
                continue;
            }
            if !self.missing.is_empty() {
                self.miss(name)?;
                continue;
            }
            let stat = match self.workspace.fs.stat(self.dir()?, &name) {
                Err(Fault::NotFound) => {
                    self.miss(name)?;
                    continue;
                }
                other => other.map_err(|fault| self.fault(&fault))?,
            };
            self.check_listed(&name)?;
            self.check_denied(&name, stat.kind)?;
            let is_last = self.ahead.is_empty();
            match stat.kind {
                // A slash after the name must not redirect an operation on a link to its target.
                Kind::Link if is_last && self.needs_dir && last == FollowSymlinks::No => {
                    return Err(self.slash_after_link());
                }
                Kind::Link if !is_last || last == FollowSymlinks::Yes => self.follow(&name)?,
                Kind::Directory if !is_last => self.enter(name)?,
                kind if is_last && (kind == Kind::Directory || !self.needs_dir) => {
                    return self.resolved(name, Some(stat));
                }
                _ => return Err(self.fault(&Fault::NotDirectory)),
            }
        }
        self.finish()
    }

    /// Passes a missing name. A missing name before the last one can become a directory, and the last one an entry of
    /// any kind.
    fn miss(&mut self, name: String) -> Result<()> {
        self.check_denied(&name, Kind::Directory)?;
        if self.ahead.is_empty() {
            self.check_denied(&name, Kind::Other)?;
        }
        if self.ancestors.is_empty() && self.missing.is_empty() {
            check_home(&name, self.requested_path, self.operation)?;
        }
        self.agent_ignore.enter_missing(&name);
        self.missing.push(name);
        Ok(())
    }

    /// Completes the resolution of a path that ends at a directory or a missing name.
    fn finish(mut self) -> Result<ResolvedPath> {
        self.missing.iter().for_each(|_| self.agent_ignore.leave());
        if let Some(name) = self.missing.pop() {
            return self.resolved(name, None);
        }
        match self.ancestors.pop() {
            Some((name, dir)) => {
                self.agent_ignore.leave();
                let stat = self.workspace.fs.stat_dir(&dir).map_err(|fault| self.fault(&fault))?;
                self.resolved(name, Some(stat))
            }
            None => {
                let stat = self.workspace.fs.stat_dir(self.dir()?).map_err(|fault| self.fault(&fault))?;
                self.resolved(String::new(), Some(stat))
            }
        }
    }

    fn resolved(self, name: String, stat: Option<Stat>) -> Result<ResolvedPath> {
        let names = self.ancestors.iter().map(|(name, _)| name.as_str()).chain(self.missing.iter().map(String::as_str));
        let relative = names.chain(Some(name.as_str()).filter(|name| !name.is_empty())).collect::<Vec<_>>().join("/");
        let path = self.top()?.rendered_path(&relative);
        let dir = self.dir()?.clone();
        Ok(ResolvedPath {
            root: self.root,
            dir,
            ancestors: self.ancestors,
            agent_ignore: self.agent_ignore,
            missing: self.missing,
            name,
            path,
            requested_path: self.requested_path.to_owned(),
            stat,
        })
    }

    fn up(&mut self, from_link: bool) -> Result<()> {
        if !self.missing.is_empty() {
            return Err(self.fault(&Fault::NotFound));
        }
        if self.ancestors.pop().is_none() {
            if self.leave_root()? {
                return Ok(());
            }
            if from_link {
                return Err(self.leads_out());
            }
            return Err(self.workspace.outside(self.requested_path, self.operation, "`..` leads out of the root"));
        }
        self.agent_ignore.leave();
        Ok(())
    }

    /// Goes up from the top of a root to its parent directory, if another root has the path `/` and so contains all
    /// other roots.
    fn leave_root(&mut self) -> Result<bool> {
        let is_whole = |root: &Root| root.names.first().is_some_and(|name| name == "/");
        let Some(whole) = self.workspace.roots.iter().position(is_whole) else { return Ok(false) };
        let above = self.top()?.names.first().and_then(|name| Some(name.rsplit_once('/')?.0));
        for name in components(above.unwrap_or_default()).collect::<Vec<_>>().into_iter().rev() {
            self.ahead.push_front(name.to_owned());
        }
        self.start(whole)?;
        Ok(true)
    }

    fn enter(&mut self, name: String) -> Result<()> {
        let dir = self.workspace.fs.open_dir(self.dir()?, &name).map_err(|fault| self.fault(&fault))?;
        self.agent_ignore.enter(&name, &dir, self.workspace.fs).map_err(|error| self.to_error(error))?;
        self.ancestors.push((name, dir));
        Ok(())
    }

    /// Adds the target of the link `name` before the remaining components.
    fn follow(&mut self, name: &str) -> Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Error::at(
                Code::InvalidPath,
                self.operation,
                self.requested_path,
                "it passes through too many symbolic links, or through a loop of links",
            ));
        }
        let target = match self.workspace.fs.read_link(self.dir()?, name) {
            Err(Fault::Outside) => return Err(self.leads_out()),
            other => other.map_err(|fault| self.fault(&fault))?,
        };
        check_path(&target, self.operation).map_err(|_| self.leads_out())?;
        let rest = if target.starts_with('/') {
            // On the host, where the link was made, a guest path is another directory.
            let (root, rest) = self.workspace.root_above(&target, Root::host_names).ok_or_else(|| self.leads_out())?;
            self.start(root)?;
            rest
        } else {
            &target
        };
        self.needs_dir |= self.ahead.is_empty() && ends_in_dir(rest);
        for component in components(rest).collect::<Vec<_>>().into_iter().rev() {
            check_name(component, self.requested_path, self.operation)?;
            self.ahead.push_front(component.to_owned());
        }
        Ok(())
    }

    /// Refuses a name that the directory lists in another form: rules that hide the entry do not match that name. Letter
    /// case is left to the rules. Every system can have file systems with short names, which contain `~`, and with
    /// names that are equal after Unicode normalization.
    #[inline(never)]
    fn check_listed(&self, name: &str) -> Result<()> {
        let is_ruled = || self.workspace.policy.host.names.is_some() || self.agent_ignore.has_rules();
        if !name.contains('~') && (name.is_ascii() || !is_ruled()) {
            return Ok(());
        }
        let listing = self.workspace.fs.list(self.dir()?).map_err(|fault| self.fault(&fault))?;
        let is_listed = listing.entries.iter().any(|entry| entry.name.eq_ignore_ascii_case(name));
        if is_listed { Ok(()) } else { Err(self.fault(&Fault::Name)) }
    }

    fn check_denied(&self, name: &str, kind: Kind) -> Result<()> {
        match self.agent_ignore.denial(name, kind) {
            Some(denial) => Err(denial.at(self.operation, self.requested_path)),
            None => Ok(()),
        }
    }

    fn slash_after_link(&self) -> Error {
        let cause = "a `/` follows the name of a symbolic link";
        Error::at(Code::NotADirectory, self.operation, self.requested_path, cause)
            .hint("leave the `/` out to mean the link itself, or name its target")
    }

    /// Returns the error for a link that leads outside. Hosts do not report all absolute targets, which may still be in
    /// a root.
    fn leads_out(&self) -> Error {
        let cause = "a symbolic link on it leads outside the workspace or has an absolute target";
        Error::at(Code::OutsideWorkspace, self.operation, self.requested_path, cause)
            .hint("use a path that does not pass through that link")
    }

    fn dir(&self) -> Result<&Dir> {
        match self.ancestors.last() {
            Some((_, dir)) => Ok(dir),
            None => Ok(&self.top()?.dir),
        }
    }

    fn top(&self) -> Result<&'w Root> {
        self.workspace.roots.get(self.root).ok_or_else(|| self.fault(&Fault::Gone))
    }

    fn fault(&self, fault: &Fault) -> Error {
        fault.at(self.operation, self.requested_path)
    }

    fn to_error(&self, mut error: Error) -> Error {
        error.path = Some(self.requested_path.to_owned());
        error
    }
}

#[cfg(test)]
mod tests;
