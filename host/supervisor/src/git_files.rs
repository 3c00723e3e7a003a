//! Files of a Git repository whose content decides where a person's Git writes and what it runs. A command replaces them
//! by a rename, as Git itself does, and only with content that is checked here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::git_index;

/// A file in `.git` that Git trusts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum GitFile {
    /// If it is invalid, Git looks for the repository in the directories above, which have ordinary files.
    Head,
    /// Git writes to the paths of its entries when a person discards changes.
    Index,
    /// It can contain references that replace objects in what Git shows.
    PackedRefs,
}

impl GitFile {
    /// Returns the file that a path relative to a root denotes, if it is one of them. Other spellings of the names are
    /// protected like the rest of `.git`.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        if path.parent()?.file_name() != Some(OsStr::new(".git")) {
            return None;
        }
        match path.file_name()?.to_str()? {
            "HEAD" => Some(Self::Head),
            "index" => Some(Self::Index),
            "packed-refs" => Some(Self::PackedRefs),
            _ => None,
        }
    }

    /// Checks new content, and returns the paths in the working tree that it stages differently than `old` did.
    ///
    /// # Errors
    ///
    /// The reason why this content is refused.
    pub(crate) fn check(self, old: Option<&[u8]>, new: &[u8]) -> Result<Vec<PathBuf>, String> {
        match self {
            Self::Head if is_head(new) => Ok(Vec::new()),
            Self::Head => Err("`HEAD` has to name a branch or a commit".to_owned()),
            Self::PackedRefs if has_replacements(new) => {
                Err("a reference in `refs/replace` would change what Git shows".to_owned())
            }
            Self::PackedRefs => Ok(Vec::new()),
            Self::Index => git_index::changed_paths(old, new),
        }
    }
}

fn is_head(content: &[u8]) -> bool {
    let Some(line) = content.strip_suffix(b"\n") else { return false };
    match line.strip_prefix(b"ref: refs/heads/") {
        Some(branch) => {
            let is_plain = |byte: &u8| *byte > b' ' && *byte != 0x7f;
            !branch.is_empty() && branch.iter().all(is_plain) && !branch.windows(2).any(|pair| pair == b"..")
        }
        None => matches!(line.len(), 40 | 64) && line.iter().all(u8::is_ascii_hexdigit),
    }
}

fn has_replacements(content: &[u8]) -> bool {
    // Some file systems ignore letter case.
    content.to_ascii_lowercase().windows(REPLACE.len()).any(|part| part == REPLACE)
}

const REPLACE: &[u8] = b"refs/replace/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_types_are_recognized_by_their_names() {
        for (path, file) in [
            (".git/HEAD", Some(GitFile::Head)),
            ("sub/.git/index", Some(GitFile::Index)),
            (".git/packed-refs", Some(GitFile::PackedRefs)),
            (".git/index.lock", None),
            (".git/refs/HEAD", None),
            ("index", None),
            (".git", None),
        ] {
            assert_eq!(GitFile::at(Path::new(path)), file, "{path}");
        }
    }

    #[test]
    fn head_names_a_branch_or_a_commit() {
        let commit = format!("{}\n", "0a".repeat(20));
        for content in ["ref: refs/heads/main\n", "ref: refs/heads/a/b.c\n", &commit] {
            assert_eq!(GitFile::Head.check(None, content.as_bytes()), Ok(Vec::new()), "{content}");
        }
        let short = &commit[1..];
        for content in [
            "",
            "\n",
            "evil\n",
            "ref: refs/heads/\n",
            "ref: /x\n",
            "ref: refs/heads/a/../b\n",
            "ref: refs/heads/a",
            short,
        ] {
            assert!(GitFile::Head.check(None, content.as_bytes()).is_err(), "{content}");
        }
    }

    #[test]
    fn packed_references_replace_no_objects() {
        let line = |name: &str| format!("# pack-refs with: peeled\n{} {name}\n", "0a".repeat(20));
        assert!(GitFile::PackedRefs.check(None, line("refs/heads/replace/x").as_bytes()).is_ok());
        for name in ["refs/replace/x", "refs/Replace/x"] {
            assert!(GitFile::PackedRefs.check(None, line(name).as_bytes()).is_err(), "{name}");
        }
    }
}
