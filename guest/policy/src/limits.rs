//! Every limit, with its unit and reason.

use serde::{Deserialize, Serialize};

/// Limits of one call. A tool's own argument can only lower them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Lines in a result. The field's usual page.
    pub max_lines: u64,
    /// Characters of one line before it is cut: minified code would fill a result with one.
    pub max_line_chars: usize,
    /// Bytes of text in a result: about 12,000 tokens, beyond which models lose the thread.
    pub max_result_bytes: usize,
    /// Bytes of a file that is read or written whole, and held in memory for it.
    pub max_file_bytes: u64,
    /// Bytes of all files of one copy.
    pub max_copy_bytes: u64,
    /// Files of one bulk operation.
    pub max_files: u64,
    /// Directory levels that a walk descends.
    pub max_depth: u32,
    /// Entries that a walk looks at, so that a hostile tree ends.
    pub max_entries: u64,
    /// Milliseconds of one call. A walk or search ends shortly before with what it has; the host ends anything else.
    pub max_time_ms: u64,
    /// Bytes of memory of the component, which the host enforces. A search by several instances has as much for each.
    pub max_memory_bytes: u64,
    /// Bytes of all files of a workspace in memory, its checkpoints included; what they share counts once.
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
