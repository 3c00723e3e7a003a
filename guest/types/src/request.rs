//! Requests with all defaults filled in. Dialects and the typed interface create them, operations execute them.
//! `wit/files.wit`, `wit/search.wit` and `wit/commands.wit` specify the fields.
//!
//! Searches are serialized for the fingerprints of cursors, without the fields that may differ from page to page.

#![expect(missing_docs, reason = "each field is documented in wit/")]

mod archive;
mod command;
mod listing;
mod search;

pub use crate::request::archive::{Pack, Unpack};
pub use crate::request::command::{Command, Input, Run, Script, Start};
pub use crate::request::listing::{Details, Glob, List, ListSort, PathSort};
pub use crate::request::search::{Changes, Grep, GrepOutput, LetterCase, Replace, Tree};

/// An operation with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Read(Read),
    ReadMany(ReadMany),
    View(Box<View>),
    Write(Write),
    Edit(Edit),
    ApplyPatch(ApplyPatch),
    MakeDir(MakeDir),
    Copy(Transfer),
    Move(Move),
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
    Command(Command),
}

/// Access of a request to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads files only.
    Read,
    /// Changes files.
    Change,
}

impl Request {
    /// Returns the permission that the request needs. The match has no wildcard, so that a new operation must be added
    /// here.
    pub fn access(&self) -> Access {
        match self {
            Self::Read(_) | Self::ReadMany(_) | Self::View(_) | Self::Stat(_) | Self::History(_) => Access::Read,
            Self::List(_) | Self::Tree(_) | Self::Glob(_) | Self::Grep(_) | Self::Changes(_) => Access::Read,
            Self::Edit(edit) if edit.dry_run => Access::Read,
            Self::ApplyPatch(patch) if patch.dry_run => Access::Read,
            Self::Replace(replace) if replace.plan.is_none() => Access::Read,
            Self::Write(_) | Self::Edit(_) | Self::ApplyPatch(_) | Self::MakeDir(_) => Access::Change,
            Self::Copy(_) | Self::Move(_) | Self::Delete(_) | Self::Restore(_) => Access::Change,
            Self::Pack(_) | Self::Unpack(_) | Self::Replace(_) => Access::Change,
            // The host makes the changes of commands.
            Self::Command(_) => Access::Read,
        }
    }

    /// Returns whether the request, or the host on its behalf, can change files.
    pub fn can_change(&self) -> bool {
        match self {
            Self::Command(command) => command.can_change(),
            request => request.access() == Access::Change,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadMode {
    #[default]
    Lines,
    Indentation,
    Function,
    Raw,
    Base64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub path: String,
    pub offset: u64,
    /// Number of the first line in the caller's dialect, for errors.
    pub first_line: u64,
    /// Maximum number of characters of a line, at most the limit of the policy.
    pub line_chars: Option<usize>,
    /// Maximum size of a file in bytes, at most the limit of the policy.
    pub max_bytes: Option<u64>,
    /// Whether to return the SHA-256 of the file.
    pub checksum: bool,
    /// Whether to return every requested line completely, and to fail if the lines do not fit.
    pub unlimited: bool,
    /// Whether `limit` may exceed the maximum number of lines of the policy.
    pub any_limit: bool,
    /// Whether an offset past the end returns no lines instead of an error.
    pub empty_past_end: bool,
    pub limit: Option<u64>,
    pub tail: Option<u64>,
    pub mode: ReadMode,
    pub anchor_line: Option<u64>,
    pub max_levels: u32,
    pub include_siblings: bool,
    pub include_header: bool,
    /// With `indentation`, whether to include all lines of a signature; Codex includes only its last line.
    pub whole_signatures: bool,
    pub encoding: Option<String>,
    pub if_none_match: Option<String>,
}

impl Read {
    /// Returns a read of `path` from line `offset`, with defaults for all other fields.
    pub fn lines(path: impl Into<String>, offset: u64, limit: Option<u64>) -> Self {
        Self {
            path: path.into(),
            offset,
            first_line: 1,
            line_chars: None,
            max_bytes: None,
            checksum: false,
            unlimited: false,
            any_limit: false,
            empty_past_end: false,
            limit,
            tail: None,
            mode: ReadMode::Lines,
            anchor_line: None,
            max_levels: 0,
            include_siblings: false,
            include_header: true,
            whole_signatures: true,
            encoding: None,
            if_none_match: None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadMany {
    pub files: Vec<Read>,
    pub glob: Option<String>,
}

/// A path that is read if it is a file, and listed if it is a directory.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Read to execute if the path is a file.
    pub read: Read,
    /// Listing to execute if the path is a directory.
    pub list: List,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Write {
    pub path: String,
    pub content: String,
    pub create_only: bool,
    pub append: bool,
    pub encoding: Option<String>,
    pub if_match: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Replacement {
    pub old_text: String,
    pub new_text: String,
    pub replace_all: bool,
}

/// Text to insert after a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Insertion {
    /// The line, from 1; 0 is the start of the file.
    pub after_line: u64,
    /// Text to insert as separate lines.
    pub text: String,
    /// Whether the file ends with a newline afterwards, even if it did not before.
    pub ends_file: bool,
}

/// Rules for finding an old text that does not occur exactly. The place must be unique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EditMatching {
    /// The edit fails.
    #[default]
    Exact,
    /// Spaces, quotes and dashes of Unicode match similar ASCII characters. The result reports the lenient match.
    Punctuation,
    /// White space around lines may differ.
    WhiteSpace,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edit {
    pub path: String,
    pub edits: Vec<Replacement>,
    /// Lines to insert, instead of `edits`.
    pub insert: Option<Insertion>,
    pub matching: EditMatching,
    /// Lines of context in the diff.
    pub context: Option<usize>,
    /// Lines around the first change that the answer shows.
    pub snippet: Option<u64>,
    pub if_match: Option<String>,
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplyPatch {
    pub patch: String,
    pub dry_run: bool,
    pub matching: Matching,
}

/// Rules for finding the lines of a patch in a file, and for overwriting files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Matching {
    /// As `Strict`, but a unified hunk with a wrong line number or wrong counts applies at the only place of its old
    /// lines. The result reports each correction.
    #[default]
    Corrected,
    /// The lines are compared exactly and must occur once, at the stated line if there is one; no existing file is
    /// overwritten.
    Strict,
    /// As in Codex: the first place is used, compared exactly and then with increasing tolerance.
    Codex,
    /// As in OpenAI's `apply_patch` tool: like `Codex`, and an anchor that is not found is skipped.
    V4a,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MakeDir {
    pub path: String,
    pub parents: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    pub source: String,
    pub destination: String,
    pub overwrite: bool,
    pub recursive: bool,
}

/// A transfer that removes the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Move(pub Transfer);

#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    pub path: String,
    pub recursive: bool,
    /// Refuses directories, empty ones too.
    pub files_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Restore {
    pub path: Option<String>,
    pub backup: Option<String>,
    /// Number of calls to undo together.
    pub last: Option<u32>,
    pub overwrite: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct History {
    pub limit: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stat {
    pub path: String,
    pub checksum: bool,
    /// Only the fields that need no read of the content.
    pub brief: bool,
    /// Whether to return the kind of a link's target.
    pub follow: bool,
    /// Whether to describe the target of a link in its place.
    pub through: bool,
    /// Whether the error of a missing path has similar names, for which the workspace is searched.
    pub hints: bool,
}

impl Stat {
    /// Returns a request to describe `path`, with defaults for all other fields.
    pub fn of(path: String) -> Self {
        Self { path, checksum: false, brief: false, follow: false, through: false, hints: true }
    }
}
