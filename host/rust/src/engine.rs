//! Engine and compiled component of the process.

use std::sync::{Arc, OnceLock};

use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig};

use crate::cache;
use crate::clock::{Clock, Ticking};
use crate::error::Error;
use crate::guest::Exports;
use crate::limits::GUESTS;
use crate::store::State;

/// Prefix of the component's SHA-256, by which the cache finds its compiled code.
const COMPONENT_NAME: &str = env!("PADDOCK_COMPONENT_NAME");

/// The WebAssembly component in binary form.
pub const COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/paddock.wasm"));

/// Engine and compiled component, shared by all calls of the process.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) component: InstancePre<State>,
    pub(crate) exports: Exports,
    clock: Arc<Clock>,
}

/// Returns the runtime of the process, which is created at the first call.
pub(crate) fn runtime() -> Result<&'static Runtime, Error> {
    #[cfg(test)]
    if let Some(other) = substitute::runtime() {
        return Ok(other);
    }
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| Runtime::new().map_err(|cause| format!("{cause:#}")));
    runtime.as_ref().map_err(|cause| Error::Component(cause.clone()))
}

impl Runtime {
    fn new() -> wasmtime::Result<Self> {
        // If no address space can be reserved for a pool, each call maps its own memory.
        let engine = Engine::new(config().allocation_strategy(pool(true)))
            .or_else(|_| Engine::new(config().allocation_strategy(pool(false))))
            .or_else(|_| Engine::new(&config()))?;
        let component = cache::component(&engine, COMPONENT, COMPONENT_NAME)?;
        let clock = Clock::start(engine.clone())?;
        Self::of(engine, clock, &component)
    }

    fn of(engine: Engine, clock: Arc<Clock>, component: &Component) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        crate::wasi::add_to_linker(&mut linker)?;
        let component = linker.instantiate_pre(component)?;
        let exports = Exports::of(&component)?;
        Ok(Self { engine, component, exports, clock })
    }

    /// Creates a runtime with another component.
    #[cfg(test)]
    pub(crate) fn with(&self, component: &[u8]) -> wasmtime::Result<Self> {
        let component = Component::new(&self.engine, component)?;
        Self::of(self.engine.clone(), Arc::clone(&self.clock), &component)
    }

    /// Advances the epoch of the engine until the result is dropped.
    pub(crate) fn tick(&self) -> Ticking<'_> {
        self.clock.tick()
    }
}

/// Returns the engine settings for guests and programs.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.memory_init_cow(true);
    config.concurrency_support(false);
    config
}

/// Returns a pool of memory, tables and stacks, which calls reuse and which are reset between calls. With `scanned`,
/// the system reports the written pages, and only these are reset.
fn pool(scanned: bool) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(GUESTS);
    // A component consists of a core module, and of small modules that connect it to its imports.
    pool.total_core_instances(GUESTS * 4).total_tables(GUESTS * 4);
    pool.total_memories(GUESTS).total_stacks(GUESTS);
    pool.max_memory_size(1 << 32);
    // Zeroing a small memory is cheaper than returning it to the system and faulting it in again.
    pool.async_stack_keep_resident(1 << 14).table_keep_resident(1 << 12);
    if scanned {
        pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(4 << 20);
    }
    pool
}

#[cfg(test)]
pub(crate) mod substitute;
