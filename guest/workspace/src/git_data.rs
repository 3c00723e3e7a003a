//! The files in `.git` that Git writes when it commits. With `commands.git`, commands may change them.
//!
//! Everything else in `.git` decides what Git runs later, where it looks for it or what it shows, such as hooks, `config`,
//! `commondir`, `info/attributes`, `objects/info/alternates`, `refs/replace`, `rebase-merge` (steps of a rebase can be
//! commands), `modules` and `worktrees`.

use crate::Workspace;
use crate::protected_paths::protected;
use paddock_text::name_folding::fold;

/// Directories whose content, at any depth, is data.
const DIRECTORIES: &[&str] = &["logs", "objects", "refs"];

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
        Some(("objects", rest)) => !begins_with(rest, "info"),
        // Git would show the content of another object in place of the replaced one.
        Some(("refs", rest)) => !begins_with(rest, "replace"),
        Some((first, _)) => DIRECTORIES.contains(&first),
        None => {
            let name = data.strip_suffix(".lock").unwrap_or(data);
            FILES.contains(&name) || INDICES.iter().any(|index| is_numbered(name, index))
        }
    }
}

/// Returns whether the first name of a path is `name` in any spelling.
fn begins_with(path: &str, name: &str) -> bool {
    fold(path.split('/').next().unwrap_or_default()) == name
}

fn is_numbered(name: &str, start: &str) -> bool {
    name.strip_prefix(start).is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

impl Workspace<'_> {
    /// Returns whether a command may change this path, although it is in `.git`. Of `HEAD`, the index and `packed-refs`,
    /// Git trusts the content; the supervisor of commands checks it (`host/supervisor/src/git_files.rs`).
    pub fn may_change_git_data(&self, below: &str) -> bool {
        self.policy.commands.git && !self.policy.allow_protected && is_git_data(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_a_commit_writes_are_git_data() {
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
            ".git/refs/heads/replace/x",
            "sub/dir/.git/refs/stash",
        ] {
            assert!(is_git_data(path), "{path}");
        }
    }

    #[test]
    fn files_that_select_programs_are_not_git_data() {
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
            ".git/refs/replace/17",
            ".git/refs/Replace/17",
            ".git/refs/replace",
            ".git/reftable/tables.list",
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
