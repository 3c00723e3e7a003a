//! Limits of the resources that one call may use.

use wasmtime::ResourceLimiter;

/// Maximum number of guests at the same time: calls in progress, and workspaces in memory.
pub(crate) const GUESTS: u32 = 512;

/// Returns the limiter of a guest with this many bytes of memory.
pub(crate) fn limiter(max_memory_bytes: u64) -> Limiter {
    Limiter { left: usize::try_from(max_memory_bytes).unwrap_or(usize::MAX), exceeded: false }
}

/// Limits the total memory of a guest, and its tables to the size that a build of the component needs.
pub(crate) struct Limiter {
    /// Number of bytes by which the memories may still grow.
    left: usize,
    /// Whether a growth of memory was refused. The guest then ends in a trap without a reason.
    pub(crate) exceeded: bool,
}

const TABLE_ELEMENTS: usize = 100_000;
const INSTANCES: usize = 64;

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let left = self.left.checked_sub(desired.saturating_sub(current));
        self.exceeded |= left.is_none();
        self.left = left.unwrap_or(self.left);
        Ok(left.is_some())
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
