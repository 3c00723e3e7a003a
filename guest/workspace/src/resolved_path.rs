//! A resolved path: an entry name in an open directory, with the metadata of the entry.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Detail, Error, Result, Term};
use paddock_types::phrase;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::{Dir, Stat};

use crate::Workspace;
use crate::ignore_rules::AgentIgnore;

/// A resolved path: an entry name in an existing directory.
#[derive(Clone)]
pub struct ResolvedPath {
    /// Index of the root.
    pub root: usize,
    /// The deepest existing directory of the path, without the last name.
    pub dir: Dir,
    /// The directories passed below the root, each with its name and handle; `dir` is the last.
    pub ancestors: Vec<(String, Dir)>,
    /// The `.agentignore` rules from the root down to `dir`.
    pub agent_ignore: AgentIgnore,
    /// Directories between `dir` and `name` that do not exist.
    pub missing: Vec<String>,
    /// Last name; empty if the path is a root, which is then `dir`.
    pub name: String,
    /// The path in the form of results, with links resolved.
    pub path: String,
    /// The path from the arguments.
    pub requested_path: String,
    /// Metadata of the entry; `None` if it does not exist.
    pub stat: Option<Stat>,
}

impl ResolvedPath {
    /// Returns the prefix of the paths in this directory: the path with a `/`, or an empty string for the workspace
    /// itself.
    pub fn base(&self) -> String {
        if self.path == "." { String::new() } else { format!("{}/", self.path.trim_end_matches('/')) }
    }

    /// Returns the path from the top of its root.
    pub fn below_root(&self) -> String {
        let above = self.ancestors.iter().map(|(name, _)| name).chain(&self.missing);
        above.chain([&self.name]).map(String::as_str).collect::<Vec<_>>().join("/")
    }

    /// Returns whether the path is a root.
    pub fn is_root(&self) -> bool {
        self.name.is_empty()
    }

    /// Returns the depth below its root that a directory at this path has.
    pub fn depth(&self) -> usize {
        self.ancestors.len() + self.missing.len() + usize::from(!self.is_root())
    }

    /// Opens the directory at the path.
    pub fn open_dir(&self, workspace: &Workspace<'_>, operation: &str) -> Result<Dir> {
        if self.is_root() {
            return Ok(self.dir.clone());
        }
        workspace.fs.open_dir(&self.dir, &self.name).map_err(|fault| fault.at(operation, &self.requested_path))
    }

    /// Returns the location of the entry in its open directory.
    pub fn location(&self) -> OpenLocation {
        OpenLocation { dir: self.dir.clone(), name: self.name.clone() }
    }

    /// Returns the error of an operation that needs a file and found an entry of another kind.
    pub fn not_a_file(&self, operation: &str, kind: Kind) -> Error {
        let fail = |cause: &str| Error::at(Code::NotAFile, operation, &self.requested_path, cause);
        match kind {
            Kind::Directory => fail("it is a directory")
                .hint(phrase![Term::ListTool, " shows a directory"])
                .or_hint("list the directory instead")
                .detail(Detail::IsDirectory),
            Kind::Link => fail("it is a symbolic link").hint("name the target of the link"),
            Kind::File | Kind::Other => fail("it is a FIFO, socket or device").hint("only regular files are opened"),
        }
    }
}
