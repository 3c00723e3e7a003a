//! The limits of calls, each with its unit and reason.

use serde::{Deserialize, Serialize};

/// Limits of a call. An argument of a tool can only lower them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum number of lines in a result. The default is a usual page size of such tools.
    pub max_lines: u64,
    /// Maximum number of characters of a line, because a line of minified code would fill a result.
    pub max_line_chars: usize,
    /// Maximum size of the text of a result in bytes. The default is about 12,000 tokens.
    pub max_result_bytes: usize,
    /// Maximum size in bytes of a file that is held in memory.
    pub max_file_bytes: u64,
    /// Maximum total size of the files of a copy, in bytes.
    pub max_copy_bytes: u64,
    /// Maximum number of files of an operation on many files.
    pub max_files: u64,
    /// Maximum depth of a walk, in directories.
    pub max_depth: u32,
    /// Maximum number of entries that a walk visits, which bounds the walk of a hostile tree.
    pub max_entries: u64,
    /// Time limit of a call in milliseconds. A walk or search ends shortly before with a partial result; the host ends
    /// all other calls.
    pub max_time_ms: u64,
    /// Maximum memory of the component in bytes, enforced by the host. A search by several instances has this limit for
    /// each.
    pub max_memory_bytes: u64,
    /// Maximum total size of the files of a workspace in memory, in bytes, including its checkpoints; shared content
    /// counts once.
    pub max_tree_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_lines: 2_000,
            max_line_chars: 2_000,
            max_result_bytes: 50 * 1024,
            max_file_bytes: 10 * 1024 * 1024,
            max_copy_bytes: 1024 * 1024 * 1024,
            max_files: 1_000,
            max_depth: 256,
            max_entries: 5_000_000,
            max_time_ms: 30_000,
            max_memory_bytes: 256 * 1024 * 1024,
            max_tree_bytes: 64 * 1024 * 1024,
        }
    }
}
