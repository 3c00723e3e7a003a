//! The component's own types, which `wit/` documents, and their defaults, which WIT cannot express.

pub use crate::bindings::exports::paddock::files::approval::Plan;
pub use crate::bindings::exports::paddock::files::files::{
    ApplyPatchArgs, ApplyPatchResult, DeleteArgs, DeleteResult, EditArgs, EditResult, FileRange, HistoryArgs,
    HistoryEntry, HistoryResult, LineRange, MakeDirectoryArgs, MakeDirectoryResult, PackArgs, PackResult, PatchAction,
    PatchedFile, ReadArgs, ReadManyArgs, ReadManyEntry, ReadManyResult, ReadMode, ReadResult, ReplaceArgs,
    ReplaceResult, ReplacedFile, ReplacedLine, Replacement, RestoreArgs, RestoreResult, StatArgs, StatResult,
    TransferArgs, TransferResult, UnpackArgs, UnpackResult, WriteArgs, WriteResult,
};
pub(crate) use crate::bindings::exports::paddock::files::index::IndexUpdate as IndexPart;
pub use crate::bindings::exports::paddock::files::search::{
    ChangesArgs, ChangesResult, ContextLine, Entry, FileCount, GlobArgs, GlobResult, GrepArgs, GrepMatch, GrepOutput,
    GrepResult, ListArgs, ListResult, ListSort, PathSort, TreeArgs, TreeResult,
};
pub use crate::bindings::exports::paddock::files::session::{CommitResult, Conflict, DiffResult, Difference};
pub(crate) use crate::bindings::exports::paddock::files::tools::AccessedPaths;
pub use crate::bindings::exports::paddock::files::tools::{Annotations, Tool, WriteMode};
pub use crate::bindings::exports::paddock::files::types::{
    Change, ChangeKind, EntryKind, Error as ToolError, ErrorCode, LetterCase, Skipped,
};

impl ReadArgs {
    /// Creates the arguments to read the first page of a file.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            offset: 1,
            limit: None,
            tail: None,
            mode: ReadMode::Lines,
            anchor_line: None,
            max_levels: 0,
            include_siblings: false,
            include_header: true,
            encoding: None,
            if_none_match: None,
        }
    }
}

impl ReadManyArgs {
    /// Creates the arguments to read the first page of each file.
    pub fn paths<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> Self {
        let range = |path: P| FileRange { path: path.into(), offset: 1, limit: None };
        Self { files: paths.into_iter().map(range).collect(), glob: None }
    }

    /// Creates the arguments to read every file that the glob matches.
    pub fn glob(pattern: impl Into<String>) -> Self {
        Self { files: Vec::new(), glob: Some(pattern.into()) }
    }
}

impl WriteArgs {
    /// Creates the arguments to create a file with this content, or to replace it.
    pub fn new(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            content: content.into(),
            create_only: false,
            append: false,
            encoding: None,
            if_match: None,
        }
    }
}

impl EditArgs {
    /// Creates the arguments for one replacement of text that occurs exactly once.
    pub fn new(path: impl Into<String>, old_text: impl Into<String>, new_text: impl Into<String>) -> Self {
        let edit = Replacement { old_text: old_text.into(), new_text: new_text.into(), replace_all: false };
        Self { path: path.into(), edits: vec![edit], if_match: None, dry_run: false }
    }
}

impl ApplyPatchArgs {
    /// Creates the arguments to apply a patch.
    pub fn new(patch: impl Into<String>) -> Self {
        Self { patch: patch.into(), dry_run: false }
    }
}

impl ReplaceArgs {
    /// Creates the arguments for a plan to replace the matches of a regular expression in the whole workspace.
    pub fn new(pattern: impl Into<String>, replacement: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            replacement: replacement.into(),
            path: ".".to_owned(),
            glob: None,
            fixed: false,
            letter_case: LetterCase::Sensitive,
            multiline: false,
            word: false,
            include_hidden: false,
            include_ignored: false,
            exclude_paths: Vec::new(),
            plan: None,
            cursor: None,
        }
    }
}

impl MakeDirectoryArgs {
    /// Creates the arguments to create a directory with its parents.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), parents: true }
    }
}

impl TransferArgs {
    /// Creates the arguments to copy a file, or to move a file or directory.
    pub fn new(source: impl Into<String>, destination: impl Into<String>) -> Self {
        Self { source: source.into(), destination: destination.into(), overwrite: false, recursive: false }
    }
}

impl DeleteArgs {
    /// Creates the arguments to delete a file, a link or an empty directory.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), recursive: false }
    }
}

impl RestoreArgs {
    /// Creates the arguments to undo the last change of a path.
    pub fn path(path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), backup: None, last: None, overwrite: false }
    }

    /// Creates the arguments to undo all changes of a call.
    pub fn backup(backup: impl Into<String>) -> Self {
        Self { path: None, backup: Some(backup.into()), last: None, overwrite: false }
    }

    /// Creates the arguments to undo the last calls together.
    pub fn last(calls: u32) -> Self {
        Self { path: None, backup: None, last: Some(calls), overwrite: false }
    }
}

impl PackArgs {
    /// Creates the arguments to pack files and directories into a new archive.
    pub fn new<P: Into<String>>(sources: impl IntoIterator<Item = P>, destination: impl Into<String>) -> Self {
        let sources = sources.into_iter().map(Into::into).collect();
        Self { sources, destination: destination.into(), overwrite: false }
    }
}

impl UnpackArgs {
    /// Creates the arguments to unpack an archive into a directory.
    pub fn new(source: impl Into<String>, destination: impl Into<String>) -> Self {
        Self { source: source.into(), destination: destination.into(), overwrite: false }
    }
}

impl StatArgs {
    /// Creates the arguments to describe a path, without a checksum of its content.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), checksum: false, brief: false }
    }
}

impl ListArgs {
    /// Creates the arguments to list the entries of a directory, without those of its subdirectories.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            depth: 1,
            pattern: None,
            include_hidden: false,
            include_ignored: false,
            sort: ListSort::Name,
            limit: 200,
            cursor: None,
        }
    }
}

impl TreeArgs {
    /// Creates the arguments for a tree of a directory, three levels deep.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), depth: 3, limit: 500, include_hidden: false, include_ignored: false }
    }
}

impl GlobArgs {
    /// Creates the arguments to find the paths in the whole workspace that match a glob.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            path: ".".to_owned(),
            exclude: Vec::new(),
            directories: false,
            include_hidden: false,
            include_ignored: false,
            sort: PathSort::Path,
            limit: 100,
            cursor: None,
        }
    }
}

impl GrepArgs {
    /// Creates the arguments to find the lines in the whole workspace that match a regular expression.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            path: ".".to_owned(),
            glob: None,
            fixed: false,
            letter_case: LetterCase::Sensitive,
            multiline: false,
            word: false,
            before: 0,
            after: 0,
            output: GrepOutput::Content,
            limit: 100,
            max_per_file: None,
            include_hidden: false,
            include_ignored: false,
            cursor: None,
        }
    }
}

impl ChangesArgs {
    /// Creates the arguments for a first call on the whole workspace, which returns a token.
    pub fn new() -> Self {
        Self { since: None, path: ".".to_owned(), include_hidden: false, include_ignored: false, limit: 200 }
    }

    /// Creates the arguments for the changes in the workspace since a token.
    pub fn since(token: impl Into<String>) -> Self {
        Self { since: Some(token.into()), ..Self::new() }
    }
}

impl Default for ChangesArgs {
    fn default() -> Self {
        Self::new()
    }
}
