//! Engines with the compiled component: the one that the workspaces of the process share, and those of a caller.

use std::sync::{Arc, LazyLock, OnceLock};

use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig};

use crate::cache::Cache;
use crate::clock::{Clock, Ticking};
use crate::error::Error;
use crate::guest::Exports;
use crate::limits::GUESTS;
use crate::store::State;

/// Prefix of the component's SHA-256, by which the cache finds its compiled code.
const COMPONENT_NAME: &str = env!("PADDOCK_COMPONENT_NAME");

/// The WebAssembly component in binary form. It is inflated at the first use, which is to compile it: bytes that cannot
/// be inflated are no component, and fail there.
pub(crate) static COMPONENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let deflated = include_bytes!(concat!(env!("OUT_DIR"), "/paddock.wasm.deflate"));
    miniz_oxide::inflate::decompress_to_vec(deflated).unwrap_or_default()
});

/// An engine and the component that it has compiled.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) component: InstancePre<State>,
    pub(crate) exports: Arc<Exports>,
    clock: Arc<Clock>,
}

/// Returns the runtime of the process, which is created at the first call.
pub(crate) fn runtime() -> Result<Arc<Runtime>, Error> {
    #[cfg(test)]
    if let Some(other) = substitute::runtime() {
        return Ok(other);
    }
    static RUNTIME: OnceLock<Result<Arc<Runtime>, Arc<dyn std::error::Error + Send + Sync>>> = OnceLock::new();
    let new = || pooled(GUESTS).and_then(|engine| Runtime::new(engine, &Cache::Users));
    let runtime = RUNTIME.get_or_init(|| new().map(Arc::new).map_err(|cause| Arc::from(cause.into_boxed_dyn_error())));
    runtime.clone().map_err(Error::Component)
}

impl Runtime {
    fn new(engine: Engine, cache: &Cache) -> wasmtime::Result<Self> {
        let component = cache.compiled(&engine, COMPONENT_NAME, || Component::new(&engine, &*COMPONENT))?;
        let clock = Clock::start(engine.clone())?;
        Self::of(engine, clock, &component)
    }

    fn of(engine: Engine, clock: Arc<Clock>, component: &Component) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(&engine);
        imports::add_to_linker(&mut linker)?;
        crate::wasi::add_to_linker(&mut linker)?;
        let component = linker.instantiate_pre(component)?;
        let exports = Arc::new(Exports::of(&component)?);
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

/// Returns an engine with a pool for this number of guests. If no address space can be reserved for a pool, each call
/// maps its own memory.
fn pooled(guests: u32) -> wasmtime::Result<Engine> {
    Engine::new(config().allocation_strategy(pool(guests, true)))
        .or_else(|_| Engine::new(config().allocation_strategy(pool(guests, false))))
        .or_else(|_| Engine::new(&config()))
}

/// Returns the engine settings for guests and programs.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config.memory_init_cow(true);
    set_required(&mut config);
    config
}

/// Sets the options on which time limits and cancellation depend.
fn set_required(config: &mut Config) {
    config.epoch_interruption(true);
    config.concurrency_support(false);
}

/// Returns a pool of memory, tables and stacks, which calls reuse and which are reset between calls. With `scanned`,
/// the system reports the written pages, and only these are reset.
fn pool(guests: u32, scanned: bool) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(guests);
    // A component consists of a core module, and of small modules that connect it to its imports.
    let small = guests.saturating_mul(4);
    pool.total_core_instances(small).total_tables(small);
    pool.total_memories(guests).total_stacks(guests);
    pool.max_memory_size(1 << 32);
    // Zeroing a small memory is cheaper than returning it to the system and faulting it in again, for which the system
    // interrupts the other processors. The table of the component has 13 KB.
    pool.async_stack_keep_resident(1 << 14).table_keep_resident(1 << 14);
    if scanned {
        pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(4 << 20);
    }
    pool
}

mod imports;
pub(crate) mod shared;
#[cfg(test)]
pub(crate) mod substitute;
