//! What one call may use of the process.

use paddock_policy::Limits;
use wasmtime::ResourceLimiter;

/// What holds a guest to the memory of its limits.
pub(crate) fn limiter(limits: &Limits) -> Limiter {
    let memory = usize::try_from(limits.max_memory_bytes).unwrap_or(usize::MAX);
    Limiter { memory, exceeded: false }
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
