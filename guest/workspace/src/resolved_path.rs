//! A resolved path: an entry name in an open directory, with the metadata of the entry.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Detail, Error, Result, Term, printable};
use paddock_types::phrase;
use paddock_vfs::content::FileContent;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::{Dir, Stat};

use crate::ignore_rules::AgentIgnore;
use crate::{Workspace, same_name};

/// A resolved path: an entry name in an existing directory.
#[derive(Clone)]
pub struct ResolvedPath {
    /// Index of the root.
    pub root: usize,
    /// The deepest directory of the path that exists, the last name not counted.
    pub dir: Dir,
    /// The directories passed below the root, each with its name and handle; `dir` is the last.
    pub ancestors: Vec<(String, Dir)>,
    /// The `.agentignore` rules from the root down to `dir`.
    pub agent_ignore: AgentIgnore,
    /// Directories between `dir` and `name` that do not exist.
    pub missing: Vec<String>,
    /// Last name; empty for the root itself, which `dir` then is.
    pub name: String,
    /// The path as results show it, links resolved.
    pub path: String,
    /// The path from the arguments.
    pub requested_path: String,
    /// Metadata of the entry; `None` if it does not exist.
    pub stat: Option<Stat>,
}

impl ResolvedPath {
    /// Returns the metadata of the entry, or a `not-found` error with at most three similar names.
    pub fn existing(&self, workspace: &Workspace<'_>, operation: &str) -> Result<Stat> {
        self.stat.ok_or_else(|| {
            let error = Error::at(Code::NotFound, operation, &self.requested_path, "no such file or directory");
            let mut near = self.near_names(workspace);
            if near.is_empty() {
                near = same_name::paths(workspace, self, operation);
            }
            match near {
                near if near.is_empty() => error
                    .hint(phrase![Term::FindTool, " and ", Term::ListTool, " show what is there"])
                    .or_hint(phrase![Term::ListTool, " shows what is there"])
                    .or_hint("list the directory to see its entries"),
                near => error.hint(format!("did you mean {}?", near.join(", "))),
            }
        })
    }

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

    /// Opens the directory that is there.
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

    /// Describes the content of the regular file.
    pub fn content(&self, workspace: &Workspace<'_>, operation: &str) -> Result<FileContent> {
        match self.existing(workspace, operation)?.kind {
            Kind::File => FileContent::stored(workspace.fs, self.location(), 0, u64::MAX)
                .map_err(|fault| fault.at(operation, &self.requested_path)),
            kind => Err(self.not_a_file(operation, kind)),
        }
    }

    /// Returns the error of an operation that needs a file and found an entry of another kind.
    pub fn not_a_file(&self, operation: &str, kind: Kind) -> Error {
        let fail = |cause: &str| Error::at(Code::NotAFile, operation, &self.requested_path, cause);
        match kind {
            Kind::Directory => fail("it is a directory")
                .hint(phrase![Term::ListTool, " shows a directory"])
                .or_hint("list the directory instead")
                .detail(Detail::IsDirectory),
            Kind::Link => fail("it is a symbolic link").hint("name what the link names"),
            Kind::File | Kind::Other => fail("it is a FIFO, socket or device").hint("only regular files are opened"),
        }
    }

    /// Returns up to three similar names in the directory of the missing entry, as paths in backticks.
    fn near_names(&self, workspace: &Workspace<'_>) -> Vec<String> {
        let wanted = self.missing.first().unwrap_or(&self.name);
        let Ok(listing) = workspace.fs.list(&self.dir) else { return Vec::new() };
        let gone = self.missing.len() + 1;
        let above: Vec<_> = self.path.split('/').collect();
        let above = above.get(..above.len().saturating_sub(gone)).unwrap_or_default().join("/");
        let mut scored: Vec<_> = listing
            .entries
            .into_iter()
            .filter(|entry| !self.agent_ignore.denies(&entry.name, entry.kind))
            .map(|entry| (paddock_text::similarity(&wanted.to_lowercase(), &entry.name.to_lowercase()), entry.name))
            .filter(|(score, _)| *score >= 0.6)
            .collect();
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let is_relative = above.is_empty() && !self.path.starts_with('/');
        let full = |name: &str| if is_relative { name.to_owned() } else { format!("{above}/{name}") };
        scored.iter().take(3).map(|(_, name)| format!("`{}`", printable(&full(name)))).collect()
    }
}
