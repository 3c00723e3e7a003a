//! Responses about the content of many files.

use serde::Serialize;

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

#[derive(Clone, Debug, Serialize)]
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
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replace {
    pub files: Vec<ReplacedFile>,
    pub total_files: u64,
    pub total_replacements: u64,
    pub diff: String,
    pub plan: Option<String>,
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
