//! Files that a replacement leaves out on request.

use paddock_types::error::{Error, Result, Term, printable};
use paddock_types::path::is_at_or_below;
use paddock_workspace::Workspace;

use crate::replace::{MAX_NOTED, OPERATION, Planned};

/// Files and directories that the request excludes.
pub struct Excluded(Vec<ExcludedPath>);

struct ExcludedPath {
    requested_path: String,
    path: String,
    /// Whether a file with a match is at or below the path.
    is_used: bool,
}

impl Excluded {
    pub fn new(workspace: &Workspace<'_>, paths: &[String]) -> Result<Self> {
        let max = workspace.policy.limits.max_files;
        if paths.len() as u64 > max {
            return Err(Error::argument(Term::ExcludePaths, format!("it has more than {max} paths")));
        }
        let mut excluded = Vec::with_capacity(paths.len());
        for path in paths {
            let resolved = workspace.resolve(path, OPERATION)?;
            excluded.push(ExcludedPath { requested_path: path.clone(), path: resolved.path, is_used: false });
        }
        Ok(Self(excluded))
    }

    /// Returns whether the file at `path` is left out.
    pub fn has(&mut self, path: &str) -> bool {
        let mut has = false;
        for excluded in &mut self.0 {
            if is_at_or_below(path, &excluded.path) {
                excluded.is_used = true;
                has = true;
            }
        }
        has
    }

    /// Fails if no file with a match is at one of the paths: a misspelt path would change the file that is meant. Fails
    /// also if no file is left.
    pub fn check(&self, is_one_left: bool) -> Result<()> {
        let unused: Vec<_> = self.0.iter().filter(|path| !path.is_used).map(|path| &path.requested_path).collect();
        let cause = match unused.is_empty() {
            true if is_one_left || self.0.is_empty() => return Ok(()),
            true => "it leaves out all files with a match".to_owned(),
            false => format!("no file with a match is at {}", named(&unused)),
        };
        Err(Error::argument(Term::ExcludePaths, cause))
    }
}

/// Returns the note about the files that were left out.
pub fn note(files: &[Planned]) -> Option<String> {
    let paths: Vec<_> = files.iter().filter(|file| file.is_excluded).map(|file| &file.resolved.path).collect();
    (!paths.is_empty()).then(|| format!("left out of the plan, as requested: {}", named(&paths)))
}

fn named(paths: &[&String]) -> String {
    let mut names: Vec<_> = paths.iter().take(MAX_NOTED).map(|path| format!("`{}`", printable(path))).collect();
    if paths.len() > MAX_NOTED {
        names.push(format!("{} more", paths.len() - MAX_NOTED));
    }
    names.join(", ")
}
