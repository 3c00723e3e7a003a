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

#[derive(Clone, Debug, Default, Serialize)]
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
    /// Renders lines in order, each as `12: text «old → new» text` below the path of its file.
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
    /// Writes the line without its indentation, with the words that change as `«old → new»`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, new) = (self.old.as_bytes(), self.new.as_bytes());
        // A word that changes in part is shown whole, and so is a character of several bytes.
        let is_word =
            |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80);
        let shorter = old.len().min(new.len());
        let mut front = 0;
        while front < shorter && old.get(front) == new.get(front) {
            front += 1;
        }
        let mut back = 0;
        while back < shorter - front && old.get(old.len() - 1 - back) == new.get(new.len() - 1 - back) {
            back += 1;
        }
        while front > 0 && is_word(old.get(front - 1)) {
            front -= 1;
        }
        while back > 0 && is_word(old.get(old.len() - back)) {
            back -= 1;
        }
        let part =
            |text: &'_ str, from: usize, to: usize| printable(text.get(from..to).unwrap_or_default()).into_owned();
        let (old_end, new_end) = (old.len() - back, new.len() - back);
        let before = printable(self.old.get(..front).unwrap_or_default().trim_start());
        let (old, new) = (part(&self.old, front, old_end), part(&self.new, front, new_end));
        let after = part(&self.old, old_end, self.old.len());
        write!(f, "{}: {}«{old} → {new}»{after}", self.line, before)
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
