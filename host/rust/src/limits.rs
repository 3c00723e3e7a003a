//! What one call may use.

use serde::{Deserialize, Serialize};
use wasmtime::ResourceLimiter;

/// Limits of one call. What is not set has the component's own default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Lines in a result. Default: 2,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lines: Option<u64>,
    /// Characters of a line before it is cut. Default: 2,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_line_chars: Option<u64>,
    /// Bytes of text in a result. Default: 50 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_result_bytes: Option<u64>,
    /// Bytes of a file that is read or written whole. Default: 10 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_bytes: Option<u64>,
    /// Files of one bulk operation. Default: 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u64>,
    /// Directory levels that a walk descends. Default: 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// Entries that a walk looks at. Default: 5,000,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_entries: Option<u64>,
    /// Milliseconds of one call. A walk ends shortly before with what it has; anything else is ended. Default: 30,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time_ms: Option<u64>,
    /// Bytes of memory of the guest. Default: 256 MiB.
    #[serde(skip_serializing)]
    pub max_memory_bytes: Option<usize>,
}

impl Limits {
    pub(crate) fn time_ms(&self) -> u64 {
        self.max_time_ms.unwrap_or(30_000)
    }

    pub(crate) fn limiter(&self) -> Limiter {
        Limiter { memory: self.max_memory_bytes.unwrap_or(256 << 20), exceeded: false }
    }
}

/// Holds a guest to its memory, and to tables no larger than any build of the component needs.
pub(crate) struct Limiter {
    memory: usize,
    /// Whether the guest was refused memory: it ends soon after, in a trap that does not say why.
    pub(crate) exceeded: bool,
}

const TABLE_ELEMENTS: usize = 100_000;
const INSTANCES: usize = 64;

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = desired <= self.memory;
        self.exceeded |= !allowed;
        Ok(allowed)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
    }

    fn instances(&self) -> usize {
        INSTANCES
    }

    fn tables(&self) -> usize {
        INSTANCES
    }

    fn memories(&self) -> usize {
        INSTANCES
    }
}
