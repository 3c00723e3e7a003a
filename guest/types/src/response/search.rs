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
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let same = |(a, b): &(char, char)| a == b;
        let front: usize = self.old.chars().zip(self.new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (front, old) = self.old.split_at(front);
        let (_, new) = self.new.split_at(front.len());
        let back: usize = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let back = old.split_at(old.len() - back).1;
        // A word that changes in part is shown whole.
        let (front, back) = (front.trim_end_matches(is_word), back.trim_start_matches(is_word));
        let changed = |text: &str| text.get(front.len()..text.len() - back.len()).map(|it| printable(it).into_owned());
        let (old, new) = (changed(&self.old).unwrap_or_default(), changed(&self.new).unwrap_or_default());
        write!(f, "{}: {}«{old} → {new}»{}", self.line, printable(front.trim_start()), printable(back))
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
