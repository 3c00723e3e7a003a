//! Responses of operations. `wit/files.wit`, `wit/search.wit` and `wit/commands.wit` specify the fields. The `paddock`
//! dialect returns them unchanged; other dialects render them in their own shapes.

#![expect(missing_docs, reason = "each field is documented in wit/")]

use serde::Serialize;

mod command;
mod listing;
mod search;
mod undo;

pub use crate::response::command::{Captured, Ran, Refused, Session, Sessions, Unread};
pub use crate::response::listing::{Details, Entry, Glob, List, Tree, TreeNode};
pub use crate::response::search::{
    Changes, ContextLine, FileCount, Grep, GrepMatch, Replace, ReplacedFile, ReplacedLine,
};
pub use crate::response::undo::{History, HistoryEntry, Restore};

use crate::entry::Kind;
use crate::error::Error;
use crate::match_pass::Pass;

/// The answer to a [`crate::request::Request`], variant by variant.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Response {
    Read(Read),
    ReadMany(ReadMany),
    Write(Write),
    Edit(Edit),
    ApplyPatch(ApplyPatch),
    MakeDir(MakeDir),
    Copy(Transfer),
    Move(Transfer),
    Delete(Delete),
    Restore(Restore),
    History(History),
    Pack(Pack),
    Unpack(Unpack),
    Stat(Stat),
    List(List),
    Tree(Tree),
    Glob(Glob),
    Grep(Grep),
    Replace(Replace),
    Changes(Changes),
    Ran(Ran),
    Sessions(Sessions),
}

/// One change that a call made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    pub kind: ChangeKind,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    Created,
    Modified,
    Deleted,
    Moved,
}

/// Numbers of entries that a walk left out, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skipped {
    pub ignored: u64,
    pub hidden: u64,
    pub denied: u64,
    pub unreadable: u64,
    pub too_deep: u64,
    pub unnamed: u64,
    pub links: u64,
    pub special: u64,
    pub binary: u64,
    pub too_large: u64,
    pub long_lines: u64,
}

impl Skipped {
    /// Adds the counts of another search.
    pub fn add(&mut self, other: &Self) {
        self.ignored += other.ignored;
        self.hidden += other.hidden;
        self.denied += other.denied;
        self.unreadable += other.unreadable;
        self.too_deep += other.too_deep;
        self.unnamed += other.unnamed;
        self.links += other.links;
        self.special += other.special;
        self.binary += other.binary;
        self.too_large += other.too_large;
        self.long_lines += other.long_lines;
    }
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Read {
    pub path: String,
    pub content: String,
    pub start_line: u64,
    pub end_line: u64,
    pub total_lines: Option<u64>,
    pub next_offset: Option<u64>,
    pub truncated: bool,
    pub encoding: String,
    pub bom: bool,
    pub line_ending: &'static str,
    pub size: u64,
    pub modified: Option<String>,
    pub etag: Option<String>,
    /// SHA-256 of the content, if requested.
    #[serde(skip)]
    pub sha256: Option<String>,
    pub mime: String,
    pub unchanged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Whether the last line of the content is the last of the file and has no line ending.
    #[serde(skip)]
    pub is_open: bool,
}

impl Read {
    /// Returns the number of lines of the content, or of bytes if the file is binary.
    pub fn line_count(&self) -> u64 {
        if self.end_line == 0 { 0 } else { (self.end_line + 1).saturating_sub(self.start_line) }
    }
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadMany {
    pub entries: Vec<ReadManyEntry>,
    pub truncated: bool,
    pub remaining: Vec<String>,
    pub skipped: Skipped,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadManyEntry {
    pub path: String,
    #[serde(flatten)]
    pub outcome: ReadOutcome,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReadOutcome {
    Result(Box<Read>),
    Error(Error),
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Write {
    pub path: String,
    pub bytes_written: u64,
    pub created: bool,
    /// Whether the bytes follow the content that the file had.
    #[serde(skip)]
    pub appended: bool,
    pub etag: Option<String>,
    pub backup: Option<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineRange {
    pub start: u64,
    pub end: u64,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Edit {
    pub path: String,
    pub edits_applied: u64,
    pub diff: String,
    pub etag: String,
    pub lines: Vec<LineRange>,
    pub backup: Option<String>,
    pub notes: Vec<String>,
    /// Excerpt of the result, if requested and if the file has lines left.
    #[serde(skip)]
    pub snippet: Option<Snippet>,
    /// Whether nothing was changed because the request was a dry run.
    #[serde(skip)]
    pub dry_run: bool,
}

/// Lines of a file after it was edited.
#[derive(Clone, Debug)]
pub struct Snippet {
    /// The number of the first line, from 1.
    pub start_line: u64,
    /// The lines with their endings.
    pub text: String,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApplyPatch {
    pub files: Vec<PatchedFile>,
    /// Sections of the patch in their order, each with the path as the patch spells it; of a move, the new path.
    #[serde(skip)]
    pub sections: Vec<(PatchAction, String)>,
    pub backup: Option<String>,
    pub notes: Vec<String>,
    /// Whether nothing was changed because the request was a dry run.
    #[serde(skip)]
    pub dry_run: bool,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PatchedFile {
    pub path: String,
    pub action: PatchAction,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    pub lines_added: u64,
    pub lines_removed: u64,
    pub etag: Option<String>,
    /// The loosest comparison that a line of the file needed.
    #[serde(skip)]
    pub pass: Pass,
    /// Bytes of the file afterwards.
    #[serde(skip)]
    pub size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PatchAction {
    Add,
    Update,
    Move,
    Delete,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MakeDir {
    pub path: String,
    pub created: bool,
    pub backup: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transfer {
    pub source: String,
    pub destination: String,
    pub files: u64,
    pub bytes: u64,
    pub backup: Option<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delete {
    pub path: String,
    pub entries_deleted: u64,
    pub backup: Option<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pack {
    pub path: String,
    pub entries: u64,
    pub files: u64,
    pub bytes: u64,
    pub size: u64,
    pub etag: String,
    pub backup: Option<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unpack {
    pub destination: String,
    pub entries: u64,
    pub files: u64,
    pub bytes: u64,
    pub backup: Option<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stat {
    pub path: String,
    pub kind: Kind,
    pub size: Option<u64>,
    pub modified: Option<String>,
    pub accessed: Option<String>,
    pub changed: Option<String>,
    pub hard_links: u64,
    pub lines: Option<u64>,
    pub encoding: Option<String>,
    pub mime: Option<String>,
    pub link_target: Option<String>,
    pub etag: Option<String>,
    pub sha256: Option<String>,
    /// Kind of a link's target in the workspace, if requested.
    #[serde(skip)]
    pub target_kind: Option<Kind>,
}

impl Response {
    /// Returns the notes: facts that the caller has to know about a call that succeeded.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Write(write) => &write.notes,
            Self::Edit(edit) => &edit.notes,
            Self::ApplyPatch(patch) => &patch.notes,
            Self::Copy(transfer) | Self::Move(transfer) => &transfer.notes,
            Self::Delete(delete) => &delete.notes,
            Self::Grep(grep) => &grep.notes,
            Self::Glob(glob) => &glob.notes,
            Self::Replace(replace) => &replace.notes,
            Self::Restore(restore) => &restore.notes,
            Self::Pack(pack) => &pack.notes,
            Self::Unpack(unpack) => &unpack.notes,
            Self::Ran(ran) => &ran.notes,
            Self::Read(_) | Self::ReadMany(_) | Self::List(_) | Self::Tree(_) | Self::Stat(_) | Self::Changes(_) => &[],
            Self::MakeDir(_) | Self::History(_) | Self::Sessions(_) => &[],
        }
    }

    /// Returns whether a limit cut the answer short.
    pub fn truncated(&self) -> bool {
        match self {
            Self::Read(read) => read.truncated,
            Self::ReadMany(many) => many.truncated,
            Self::List(list) => list.truncated,
            Self::Tree(tree) => tree.truncated,
            Self::History(history) => history.truncated,
            Self::Glob(glob) => glob.truncated,
            Self::Grep(grep) => grep.truncated,
            Self::Replace(replace) => replace.truncated,
            Self::Changes(changes) => changes.truncated,
            Self::Ran(ran) => ran.is_cut(),
            Self::Write(_) | Self::Edit(_) | Self::ApplyPatch(_) | Self::MakeDir(_) => false,
            Self::Copy(_) | Self::Move(_) | Self::Delete(_) | Self::Restore(_) | Self::Stat(_) => false,
            Self::Pack(_) | Self::Unpack(_) | Self::Sessions(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_undone_changes_archives_searches_and_commands_are_returned() {
        let notes = vec!["the caller has to know this".to_owned()];
        let responses = [
            Response::Restore(Restore { notes: notes.clone(), ..Restore::default() }),
            Response::Pack(Pack { notes: notes.clone(), ..Pack::default() }),
            Response::Unpack(Unpack { notes: notes.clone(), ..Unpack::default() }),
            Response::Glob(Glob { notes: notes.clone(), ..Glob::default() }),
            Response::Grep(Grep { notes: notes.clone(), ..Grep::default() }),
            Response::Ran(Ran { notes: notes.clone(), ..Ran::default() }),
        ];
        for response in responses {
            assert_eq!(response.notes(), notes, "{response:?}");
        }
    }
}
