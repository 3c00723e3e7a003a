//! The files in `.git` that Git writes when it commits. With `commands.git`, commands may change them.
//!
//! Everything else in `.git` decides what Git runs later or where it looks for it, such as hooks, `config`, `commondir`,
//! `info/attributes`, `objects/info/alternates`, `rebase-merge` (steps of a rebase can be commands), `modules` and
//! `worktrees`.

use paddock_text::name_folding::fold;
use paddock_vfs::{Fault, FsResult};

use crate::Workspace;
use crate::protected_paths::protected;

/// Directories whose content, at any depth, is data.
const DIRECTORIES: &[&str] = &["logs", "objects", "refs", "reftable"];

/// Files that are data. Each can have a lock file.
const FILES: &[&str] = &[
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "ORIG_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "TAG_EDITMSG",
    "index",
    "packed-refs",
    "packed-refs.new",
];

/// Beginnings of the names of temporary indices, which a process id follows.
const INDICES: &[&str] = &["index.stash.", "next-index-"];

/// Name of the file by which Git recognises a repository, in any spelling, folded.
const MARKER: &str = "head";

/// Returns whether a path relative to a root is data of a Git repository. Names are compared exactly, so that other
/// spellings stay protected.
pub fn is_git_data(below: &str) -> bool {
    let (above, data) = match (below.strip_prefix(".git/"), below.split_once("/.git/")) {
        (Some(data), _) => ("", data),
        (None, Some((above, data))) => (above, data),
        (None, None) => return false,
    };
    if protected(above).is_some() || protected(data).is_some() {
        return false;
    }
    match data.split_once('/') {
        // Alternates lead to other repositories.
        Some(("objects", rest)) => fold(rest.split('/').next().unwrap_or_default()) != "info",
        Some((first, _)) => DIRECTORIES.contains(&first),
        None => {
            let name = data.strip_suffix(".lock").unwrap_or(data);
            FILES.contains(&name) || INDICES.iter().any(|index| is_numbered(name, index))
        }
    }
}

fn is_numbered(name: &str, start: &str) -> bool {
    name.strip_prefix(start).is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

impl Workspace<'_> {
    /// Returns whether a command may change this path, although it is in `.git`.
    ///
    /// If Git finds the `HEAD` of `.git` invalid, it tries whether the directory that contains `.git` is a repository
    /// itself, whose `config` is an ordinary file there. Therefore a `HEAD` in `.git` is not changed if there is one
    /// beside `.git`, and the latter is not created, see [`Workspace::is_beside_git`].
    pub fn may_change_git_data(&self, root: usize, below: &str) -> bool {
        let is_safe = || match below.strip_suffix(".git/HEAD") {
            Some(above) => self.has_entry(root, above, "HEAD") == Ok(false),
            None => true,
        };
        self.is_git_protected_in_part() && is_git_data(below) && is_safe()
    }

    /// Returns whether a path is a `HEAD` beside a `.git` that commands may change.
    pub fn is_beside_git(&self, root: usize, below: &str) -> bool {
        let (above, name) = below.rsplit_once('/').unwrap_or(("", below));
        self.is_git_protected_in_part() && fold(name) == MARKER && self.has_entry(root, above, ".git") != Ok(false)
    }

    fn is_git_protected_in_part(&self) -> bool {
        self.policy.commands.git && !self.policy.allow_protected
    }

    fn has_entry(&self, root: usize, above: &str, name: &str) -> FsResult<bool> {
        let mut dir = self.roots.get(root).ok_or(Fault::Gone)?.dir.clone();
        for part in above.split('/').filter(|part| !part.is_empty()) {
            dir = match self.fs.open_dir(&dir, part) {
                Err(Fault::NotFound) => return Ok(false),
                dir => dir?,
            };
        }
        match self.fs.stat(&dir, name) {
            Err(Fault::NotFound) => Ok(false),
            stat => stat.map(|_| true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_commit_writes_is_data() {
        for path in [
            ".git/index",
            ".git/index.lock",
            ".git/index.stash.17.lock",
            ".git/next-index-17.lock",
            ".git/HEAD",
            ".git/HEAD.lock",
            ".git/COMMIT_EDITMSG",
            ".git/packed-refs.lock",
            ".git/objects/17",
            ".git/objects/17/tmp_obj_aXq",
            ".git/objects/pack/tmp_pack_x",
            ".git/objects/maintenance.lock",
            ".git/refs/heads/a/b.lock",
            ".git/logs/HEAD",
            ".git/reftable/tables.list",
            "sub/dir/.git/refs/stash",
        ] {
            assert!(is_git_data(path), "{path}");
        }
    }

    #[test]
    fn what_decides_about_later_programs_is_not() {
        for path in [
            "",
            "index",
            ".git",
            ".git/",
            ".git/config",
            ".git/config.lock",
            ".git/config.worktree",
            ".git/CONFIG",
            ".git/Index",
            ".git/hooks",
            ".git/hooks/pre-commit",
            ".git/info",
            ".git/info/attributes",
            ".git/info/exclude",
            ".git/commondir",
            ".git/gitdir",
            ".git/gc.log",
            ".git/shallow",
            ".git/MERGE_RR",
            ".git/BISECT_NAMES",
            ".git/rebase-merge/git-rebase-todo",
            ".git/rebase-apply/patch",
            ".git/sequencer/todo",
            ".git/modules/a/config",
            ".git/modules/a/objects/17",
            ".git/worktrees/a/gitdir",
            ".git/worktrees/a/HEAD",
            ".git/objects",
            ".git/refs",
            ".git/logs",
            ".git/objects/info/alternates",
            ".git/objects/INFO/alternates",
            ".git/objects/in\u{200c}fo/http-alternates",
            ".git/index.stash.",
            ".git/index.stash.x",
            ".git/index/x",
            ".git/refs/.git/hooks/x",
            ".git/logs/.vscode/tasks.json",
            ".vscode/.git/refs/x",
            ".GIT/index",
            ".g\u{200c}it/index",
            "GIT~1/index",
            "x.git/index",
        ] {
            assert!(!is_git_data(path), "{path}");
        }
    }
}
