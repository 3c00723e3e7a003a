//! What one call may use of the process.

use wasmtime::ResourceLimiter;

/// Guests that can be at once: calls under way, and workspaces in memory.
pub(crate) const GUESTS: u32 = 512;

/// What holds a guest to that many bytes of memory.
pub(crate) fn limiter(max_memory_bytes: u64) -> Limiter {
    Limiter { left: usize::try_from(max_memory_bytes).unwrap_or(usize::MAX), exceeded: false }
}

/// Holds a guest to its memory, all that it has together, and to tables no larger than any build of the component needs.
pub(crate) struct Limiter {
    /// Bytes that its memories may still grow.
    left: usize,
    /// Whether the guest was refused memory: it ends soon after, in a trap that does not say why.
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
