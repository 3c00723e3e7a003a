//! Results that list entries: of one directory, of a tree, of the matches of a glob.

use crate::path::below;
use serde::Serialize;

use crate::entry::Kind;
use crate::response::Skipped;

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    pub path: String,
    pub kind: Kind,
    pub size: Option<u64>,
    pub modified: Option<String>,
    /// Further details that the request asked for.
    #[serde(skip)]
    pub details: Details,
}

/// Details of one entry that [`crate::request::Details`] asks for; empty if the time limit ended before they were read.
#[derive(Clone, Debug, Default)]
pub struct Details {
    pub etag: Option<String>,
    pub target_kind: Option<Kind>,
    pub head: Vec<u8>,
    /// Bytes of the file that were read for this.
    pub read: u64,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct List {
    pub path: String,
    pub entries: Vec<Entry>,
    pub total_files: Option<u64>,
    pub total_directories: Option<u64>,
    pub total_size: Option<u64>,
    pub skipped: Skipped,
    pub truncated: bool,
    pub next_cursor: Option<String>,
    /// Number of entries before the first one, at most the number that the request leaves out.
    #[serde(skip)]
    pub passed: u64,
}

impl List {
    /// Returns the path of an entry below the listed directory.
    pub fn below<'e>(&self, entry: &'e Entry) -> &'e str {
        let base = if self.path == "." { "" } else { &self.path };
        below(&entry.path, base).unwrap_or(&entry.path)
    }
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tree {
    pub path: String,
    pub tree: TreeNode,
    pub files: u64,
    pub directories: u64,
    pub skipped: Skipped,
    pub truncated: bool,
    /// Whether no larger limit returns more.
    #[serde(skip)]
    pub is_largest: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeNode {
    pub name: String,
    pub kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<Vec<TreeNode>>,
}

#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Glob {
    pub paths: Vec<String>,
    pub skipped: Skipped,
    pub truncated: bool,
    pub next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Paths with their details, if requested.
    #[serde(skip)]
    pub entries: Vec<Entry>,
}
