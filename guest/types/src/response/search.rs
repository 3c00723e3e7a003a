//! Responses about the content of many files.

use std::fmt;
use std::fmt::Write;

use serde::Serialize;

use crate::error::printable;
use crate::response::Skipped;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextLine {
    pub line: u64,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrepMatch {
    pub path: String,
    pub line: u64,
    pub text: String,
    pub text_start: u64,
    pub match_start: u64,
    pub match_end: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<ContextLine>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<ContextLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileCount {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grep {
    pub matches: Vec<GrepMatch>,
    pub files: Vec<FileCount>,
    pub files_searched: u64,
    pub bytes_searched: u64,
    pub skipped: Skipped,
    pub truncated: bool,
    pub next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether counts are of matches, which may span lines, instead of lines.
    #[serde(skip)]
    pub counts_matches: bool,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replace {
    pub files: Vec<ReplacedFile>,
    pub total_files: u64,
    pub total_replacements: u64,
    pub lines: Vec<ReplacedLine>,
    pub plan: Option<String>,
    pub next_cursor: Option<String>,
    pub applied: bool,
    pub files_searched: u64,
    pub unchangeable: u64,
    pub skipped: Skipped,
    pub truncated: bool,
    pub backup: Option<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplacedFile {
    pub path: String,
    pub replacements: u64,
    pub etag: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplacedLine {
    pub path: String,
    pub line: u64,
    pub old: String,
    pub new: String,
    pub replacements: u64,
}

impl ReplacedLine {
    /// Renders lines in order, each as `12: old → new` below the path of its file.
    pub fn text(lines: &[Self]) -> String {
        let (mut text, mut path) = (String::new(), None);
        for line in lines {
            if path != Some(&line.path) {
                path = Some(&line.path);
                text.push_str(&printable(&line.path));
                text.push('\n');
            }
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

impl fmt::Display for ReplacedLine {
    /// Writes both texts on one line, without the indentation that stays the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (indent, old) = self.old.split_at(self.old.len() - self.old.trim_start().len());
        let (old, new) = match self.new.strip_prefix(indent) {
            Some(new) => (old, new),
            None => (self.old.as_str(), self.new.as_str()),
        };
        write!(f, "{}: {} → {}", self.line, printable(old), printable(new))
    }
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changes {
    pub token: String,
    pub created: Vec<String>,
    pub modified: Vec<String>,
    pub deleted: Vec<String>,
    pub total: u64,
    pub watched: u64,
    pub skipped: Skipped,
    pub truncated: bool,
}
