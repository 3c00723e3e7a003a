//! Rights of a call to change, create and move paths.

use paddock_types::error::{Code, Error, Result, printable};

use paddock_vfs::Fault;

use crate::Workspace;
use crate::access_rules::Denial;
use crate::resolved_path::ResolvedPath;

/// Reason why a path may not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchangeable<'p> {
    /// The root is read-only at this path.
    ReadOnly,
    /// The path contains this protected name.
    Protected(&'p str),
}

impl Unchangeable<'_> {
    /// Returns the reason as the cause of an error message.
    pub fn cause(&self) -> String {
        match self {
            Self::ReadOnly => "this root is read-only".to_owned(),
            Self::Protected(name) => {
                format!("`{}` is protected, since it can run code or change rules later", printable(name))
            }
        }
    }
}

impl Workspace<'_> {
    /// Refuses every change if no root is writable.
    pub fn check_any_change(&self) -> Result<()> {
        if self.roots.iter().any(|root| root.writable) {
            return Ok(());
        }
        Err(Error::new(Code::ReadOnly, "nothing may be changed: the workspace is read-only")
            .hint("only tools that read work here"))
    }

    /// Refuses a change of `resolved` if its root or a rule forbids the change.
    pub fn check_change(&self, resolved: &ResolvedPath, operation: &str) -> Result<()> {
        match self.unchangeable(resolved.root, &resolved.below_root(), &resolved.path) {
            None => Ok(()),
            Some(Unchangeable::ReadOnly) => Err(Fault::ReadOnly.at(operation, &resolved.requested_path)),
            Some(protected @ Unchangeable::Protected(_)) => {
                Err(Error::at(Code::ReadOnly, operation, &resolved.requested_path, protected.cause())
                    .hint("leave it as it is, or ask the person who runs this to change it"))
            }
        }
    }

    /// Returns why `below`, a path in the root with this index that results show as `path`, may not be changed; `None` if it may.
    pub fn unchangeable<'p>(&self, index: usize, below: &str, path: &'p str) -> Option<Unchangeable<'p>> {
        let root = self.roots.get(index).filter(|root| root.writable);
        if root
            .is_none_or(|root| root.access_rules.as_ref().is_some_and(|access_rules| access_rules.is_read_only(below)))
        {
            return Some(Unchangeable::ReadOnly);
        }
        if self.policy.allow_protected {
            return None;
        }
        crate::protected_paths::protected(path).map(Unchangeable::Protected)
    }

    /// Refuses to move or remove a path that is or contains another root.
    pub fn check_movable(&self, resolved: &ResolvedPath, operation: &str) -> Result<()> {
        if !self.access_rules(resolved).is_some_and(|access_rules| access_rules.holds_root(&resolved.below_root())) {
            return Ok(());
        }
        let cause = "it is a root of the workspace, or holds one, and stays where it is";
        Err(Error::at(Code::Denied, operation, &resolved.requested_path, cause).hint("name its entries instead"))
    }

    /// Refuses to create a file at `resolved` if the policy does not allow its extension.
    pub fn check_new_file(&self, resolved: &ResolvedPath, operation: &str) -> Result<()> {
        match self.access_rules(resolved).is_some_and(|access_rules| access_rules.denies_file(&resolved.name)) {
            true => Err(Denial::Extension.at(operation, &resolved.requested_path)),
            false => Ok(()),
        }
    }

    /// Refuses to create a tree or a link at a path at or above a blocked path.
    pub fn check_new_tree(&self, resolved: &ResolvedPath, operation: &str) -> Result<()> {
        if !self
            .access_rules(resolved)
            .is_some_and(|access_rules| access_rules.is_ancestor_of_blocked(&resolved.below_root()))
        {
            return Ok(());
        }
        let cause = "an entry below that path is closed to all tools";
        Err(Error::at(Code::Denied, operation, &resolved.requested_path, cause)
            .hint("make the directory, then fill it file by file"))
    }
}
