//! Access rules of the file tools for the paths that a command opens. The check runs for each file that a command
//! opens, so the effective rules of each directory are cached.

use paddock_types::path::{below, is_entry_name};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use paddock_types::entry::Kind;
use paddock_types::request::Access;
use paddock_vfs::{Dir, Fault, Filesystem, FsResult};
use paddock_workspace::Workspace;
use paddock_workspace::ignore_rules::{AgentIgnore, Rules};
use paddock_workspace::rights::Unchangeable;

const OPERATION: &str = "use";

/// Maximum number of directories with cached rules; a full cache is cleared.
const MAX_DIRECTORY_RULES: usize = 16_384;

/// Result of an access check: the `verdict` of `wit/commands.wit`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Reason why access is refused, or `None` if it is allowed.
    pub refused: Option<String>,
    /// Whether an ignore rule hides the path, or a change would be one of Git's data.
    pub ignored: bool,
}

impl Verdict {
    /// Returns a verdict that refuses access for this reason.
    pub fn refused(cause: impl Into<String>) -> Self {
        Self { refused: Some(cause.into()), ignored: false }
    }
}

/// Access checks for one workspace. Rules are read once and then cached.
pub struct AccessChecker<'w> {
    workspace: &'w Workspace<'w>,
    /// Rules of directories by path relative to the root, one map per root.
    directory_rules: RefCell<Vec<HashMap<String, Rc<DirectoryRules>>>>,
}

impl<'w> AccessChecker<'w> {
    /// Creates a checker with an empty cache.
    pub fn new(workspace: &'w Workspace<'w>) -> Self {
        let directory_rules = workspace.roots.iter().map(|_| HashMap::new()).collect();
        Self { workspace, directory_rules: RefCell::new(directory_rules) }
    }

    /// Returns whether a command may access `path` in this way. The path is rendered and contains no symbolic links.
    pub fn verdict(&self, path: &str, access: Access, is_directory: bool) -> Verdict {
        match locate(self.workspace, path) {
            Ok((root, below)) => self.in_root(root, below, access, is_directory),
            Err(cause) => Verdict::refused(cause),
        }
    }

    /// Returns whether access rules deny the path `below` of a root to every tool, whether or not it exists.
    pub fn denies(&self, root: usize, below: &str, kind: Kind) -> bool {
        let (above, name) = below.rsplit_once('/').unwrap_or(("", below));
        self.rules_of(root, above).denial(name, kind).is_some()
    }

    fn in_root(&self, root: usize, below: &str, access: Access, is_directory: bool) -> Verdict {
        let (above, name) = below.rsplit_once('/').unwrap_or(("", below));
        let rules = self.rules_of(root, above);
        let kind = if is_directory { Kind::Directory } else { Kind::File };
        let mut refused = rules.denial(name, kind).or_else(|| rules.unreachable_because.clone());
        let is_git_data = access == Access::Change && self.workspace.may_change_git_data(below);
        if refused.is_none() && access == Access::Change {
            refused = self.unchangeable(root, below, is_git_data);
        }
        let excludes = || !name.is_empty() && rules.rules.excludes(name, is_directory);
        Verdict { refused, ignored: is_git_data || rules.ignored || excludes() }
    }

    fn unchangeable(&self, root: usize, below: &str, is_git_data: bool) -> Option<String> {
        let top = self.workspace.roots.get(root)?;
        match self.workspace.unchangeable(root, below, &top.rendered_path(below)) {
            Some(Unchangeable::Protected(".git")) if is_git_data => {}
            Some(unchangeable) => return Some(unchangeable.cause()),
            None => {}
        }
        // A directory that is renamed to this path could contain an entry at the blocked path, and a link can lead
        // anywhere.
        let is_ancestor_of_blocked =
            top.access_rules.as_ref().is_some_and(|access_rules| access_rules.is_ancestor_of_blocked(below));
        is_ancestor_of_blocked.then(|| "an entry below that path is closed to all tools".to_owned())
    }

    /// Returns the effective rules of a directory.
    fn rules_of(&self, root: usize, path: &str) -> Rc<DirectoryRules> {
        if let Some(rules) = self.known(root, path) {
            return rules;
        }
        let Some(top) = self.workspace.roots.get(root) else {
            return Rc::new(DirectoryRules::unreachable_because(&Fault::Gone));
        };
        let mut rules = self.known(root, "").unwrap_or_else(|| {
            let rules = Rc::new(DirectoryRules::top(self.workspace, root));
            self.keep(root, "", &rules);
            rules
        });
        // Directory handles are not cached: a tree can have more directories than a host has handles.
        let mut dir: FsResult<Dir> = Ok(top.dir.clone());
        let mut end = 0;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            end += usize::from(end > 0) + name.len();
            let walked = path.get(..end).unwrap_or(path);
            dir = dir.and_then(|dir| self.workspace.fs.open_dir(&dir, name));
            rules = self.known(root, walked).unwrap_or_else(|| {
                let below = Rc::new(rules.below(name, dir.as_ref(), self.workspace.fs));
                if dir.is_ok() {
                    self.keep(root, walked, &below);
                }
                below
            });
        }
        rules
    }

    fn known(&self, root: usize, path: &str) -> Option<Rc<DirectoryRules>> {
        self.directory_rules.borrow().get(root)?.get(path).cloned()
    }

    fn keep(&self, root: usize, path: &str, rules: &Rc<DirectoryRules>) {
        if let Some(directory_rules) = self.directory_rules.borrow_mut().get_mut(root) {
            if directory_rules.len() >= MAX_DIRECTORY_RULES {
                directory_rules.clear();
            }
            directory_rules.insert(path.to_owned(), Rc::clone(rules));
        }
    }
}

/// Splits a rendered path into the index of its root and the path relative to that root.
///
/// # Errors
///
/// The reason why the path belongs to no root.
pub fn locate<'p>(workspace: &Workspace<'_>, path: &'p str) -> Result<(usize, &'p str), &'static str> {
    let (root, below) = match path.starts_with('/') {
        false => (0, if path == "." { "" } else { Some(path).filter(|path| !path.is_empty()).ok_or(NO_PATH)? }),
        true => {
            let roots = workspace.roots.iter().enumerate().skip(1);
            let holding = roots.filter_map(|(index, root)| Some((index, root.label.len(), below(path, &root.label)?)));
            let (root, _, below) = holding.max_by_key(|(_, length, _)| *length).ok_or("it is in no root")?;
            (root, below)
        }
    };
    match below.is_empty() || below.split('/').all(is_entry_name) {
        true => Ok((root, below)),
        false => Err(NO_PATH),
    }
}

const NO_PATH: &str = "it is not a valid path for tools";

/// The effective rules of a directory, accumulated from its root.
#[derive(Default)]
struct DirectoryRules {
    agent_ignore: AgentIgnore,
    rules: Rules,
    /// Reason why access rules deny the whole directory.
    denied: Option<String>,
    /// Reason why the directory cannot be opened although its path exists.
    unreachable_because: Option<String>,
    /// Whether an ignore rule hides the whole directory.
    ignored: bool,
}

impl DirectoryRules {
    /// Returns the rules at the top of a root.
    fn top(workspace: &Workspace<'_>, root: usize) -> Self {
        let mut rules = match workspace.agent_ignore_of(root, ".", OPERATION) {
            Ok(agent_ignore) => Self { agent_ignore, ..Self::default() },
            Err(error) => Self { denied: Some(error.message()), ..Self::default() },
        };
        if let Some(top) = workspace.roots.get(root) {
            rules.rules.enter("", &top.dir, workspace.fs, None);
        }
        rules
    }

    fn unreachable_because(fault: &Fault) -> Self {
        Self { unreachable_because: Some(fault.cause().to_owned()), ..Self::default() }
    }

    /// Returns the reason why access rules deny the entry `name`, if they do.
    fn denial(&self, name: &str, kind: Kind) -> Option<String> {
        let own = || self.agent_ignore.denial(name, kind).filter(|_| !name.is_empty());
        self.denied.clone().or_else(|| own().map(|denial| denial.cause().to_owned()))
    }

    /// Returns the rules of the subdirectory `name`, opened as `dir`.
    fn below(&self, name: &str, dir: Result<&Dir, &Fault>, fs: &dyn Filesystem) -> Self {
        let below = Self {
            agent_ignore: AgentIgnore::default(),
            rules: self.rules.clone(),
            denied: self.denial(name, Kind::Directory),
            unreachable_because: self.unreachable_because.clone(),
            ignored: self.ignored || self.rules.excludes(name, true),
        };
        below.with(self.agent_ignore.clone(), dir, name, fs)
    }

    /// Adds the rule files of the directory itself.
    fn with(
        mut self,
        mut agent_ignore: AgentIgnore,
        dir: Result<&Dir, &Fault>,
        name: &str,
        fs: &dyn Filesystem,
    ) -> Self {
        match dir {
            // The whole directory is denied, so its rule files change nothing.
            Ok(_) if self.denied.is_some() => {}
            Ok(dir) => {
                self.denied = agent_ignore.enter(name, dir, fs).err().map(|error| error.message());
                self.rules.enter(name, dir, fs, None);
            }
            Err(fault) => {
                agent_ignore.enter_missing(name);
                self.rules.enter_missing(name);
                if *fault != Fault::NotFound {
                    self.unreachable_because =
                        self.unreachable_because.or_else(|| Self::unreachable_because(fault).unreachable_because);
                }
            }
        }
        self.agent_ignore = agent_ignore;
        self
    }
}
