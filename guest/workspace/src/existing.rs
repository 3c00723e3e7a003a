//! Access to entries that must exist. The hint of the error names entries that the caller may have meant.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Detail, Error, Result, Term, printable};
use paddock_types::phrase;
use paddock_vfs::content::FileContent;
use paddock_vfs::{Dir, Stat};

use crate::Workspace;
use crate::resolved_path::ResolvedPath;
use crate::walk::{Options, Walk};

/// Maximum number of entries that a search visits.
const MAX_ENTRIES: u64 = 4_000;
/// Maximum number of paths that a hint names.
const MAX_PATHS: usize = 3;

impl Workspace<'_> {
    /// Resolves the directory that a call searches.
    pub fn directory_to_search(&self, path: &str, operation: &str) -> Result<(ResolvedPath, Dir)> {
        self.resolve_dir(path, operation).map_err(|error| match error.code {
            Code::NotADirectory => error
                .hint(phrase![Term::DescribeTool, " describes a file, and ", Term::ReadTool, " reads it"])
                .or_hint("it is a file: read it"),
            _ => error,
        })
    }

    /// Resolves `path` to a directory and opens it.
    pub fn resolve_dir(&self, path: &str, operation: &str) -> Result<(ResolvedPath, Dir)> {
        let resolved = self.resolve(path, operation)?;
        let stat = resolved.existing(self, operation)?;
        if stat.kind != Kind::Directory {
            return Err(Error::at(Code::NotADirectory, operation, path, "it is not a directory"));
        }
        let dir = resolved.open_dir(self, operation)?;
        Ok((resolved, dir))
    }
}

impl ResolvedPath {
    /// Returns the metadata of the entry, or a `not-found` error with at most three similar names.
    pub fn existing(&self, workspace: &Workspace<'_>, operation: &str) -> Result<Stat> {
        self.stat.ok_or_else(|| {
            let error = self.not_found(operation);
            let mut near = self.near_names(workspace);
            if near.is_empty() {
                near = paths_of_the_name(workspace, self, operation);
            }
            match near {
                near if near.is_empty() => error
                    .hint(phrase![Term::FindTool, " and ", Term::ListTool, " show what is there"])
                    .or_hint(phrase![Term::ListTool, " shows what is there"])
                    .or_hint("list the directory to see its entries"),
                near => error.hint(format!("did you mean {}?", near.join(", "))).detail(Detail::SimilarPaths),
            }
        })
    }

    /// Returns the error of a missing entry, without similar names.
    pub fn not_found(&self, operation: &str) -> Error {
        Error::at(Code::NotFound, operation, &self.requested_path, "no such file or directory")
    }

    /// Describes the content of the regular file.
    pub fn content(&self, workspace: &Workspace<'_>, operation: &str) -> Result<FileContent> {
        match self.existing(workspace, operation)?.kind {
            Kind::File => FileContent::stored(workspace.fs, self.location(), 0, u64::MAX)
                .map_err(|fault| fault.at(operation, &self.requested_path)),
            kind => Err(self.not_a_file(operation, kind)),
        }
    }

    /// Returns up to three similar names in the directory of the missing entry, as paths in backticks.
    fn near_names(&self, workspace: &Workspace<'_>) -> Vec<String> {
        let wanted = self.missing.first().unwrap_or(&self.name).to_lowercase();
        let Ok(listing) = workspace.fs.list(&self.dir) else { return Vec::new() };
        let gone = self.missing.len() + 1;
        let above: Vec<_> = self.path.split('/').collect();
        let above = above.get(..above.len().saturating_sub(gone)).unwrap_or_default().join("/");
        let alike = skeleton(&wanted);
        let score = |name: &str| {
            let name = name.to_lowercase();
            let is_alike = skeleton(&name) == alike;
            paddock_text::similarity(&wanted, &name) + f32::from(u8::from(is_alike))
        };
        let mut scored: Vec<_> = listing
            .entries
            .into_iter()
            .filter(|entry| !self.agent_ignore.denies(&entry.name, entry.kind))
            .map(|entry| (score(&entry.name), entry.name))
            .filter(|(score, _)| *score >= 0.6)
            .collect();
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let is_relative = above.is_empty() && !self.path.starts_with('/');
        let full = |name: &str| if is_relative { name.to_owned() } else { format!("{above}/{name}") };
        scored.iter().take(3).map(|(_, name)| format!("`{}`", printable(&full(name)))).collect()
    }
}

/// Returns the part of a name that is the same in every Unicode normal form: the ASCII characters that no combining mark
/// follows.
fn skeleton(name: &str) -> String {
    let next = name.chars().skip(1).chain(['\0']);
    let is_plain = |(c, next): &(char, char)| c.is_ascii() && !('\u{300}'..='\u{36f}').contains(next);
    name.chars().zip(next).filter(is_plain).map(|(c, _)| c).collect()
}

/// Returns the paths with the last name of a missing path in the same root, quoted. Ignore rules apply, and the search
/// ends after [`MAX_ENTRIES`] entries: the hint need not be complete.
fn paths_of_the_name(workspace: &Workspace<'_>, missing: &ResolvedPath, operation: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let top = match workspace.roots.get(missing.root) {
        Some(root) if missing.root > 0 => root.label.as_str(),
        _ => ".",
    };
    let Ok(top) = workspace.resolve(top, operation) else { return paths };
    let walk = top
        .open_dir(workspace, operation)
        .and_then(|dir| Walk::new(workspace, &top, &dir, Options::default(), operation));
    let Ok(mut walk) = walk else { return paths };
    while paths.len() < MAX_PATHS && walk.looked_at() < MAX_ENTRIES {
        let Some(entry) = walk.next_entry() else { break };
        if entry.name == missing.name {
            paths.push(format!("`{}`", printable(entry.path)));
        }
    }
    paths
}
