//! One engine and one compiled component for the process.

use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use wasmtime::component::{Component, Linker};
use wasmtime::{Cache, Config, Engine, PoolingAllocationConfig};

use crate::bindings::FileToolsPre;
use crate::error::Error;
use crate::sandbox::State;

/// The component itself, as the build made it.
pub const COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/paddock.wasm"));

/// How often a running guest looks at its deadline and at cancellation.
const TICK: Duration = Duration::from_millis(10);

/// Guests that can be at once: calls under way, and workspaces in memory.
pub(crate) const GUESTS: u32 = 512;

/// What every call of the process shares.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) tools: FileToolsPre<State>,
    clock: Arc<Clock>,
}

/// The process's runtime, made at the first call.
pub(crate) fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| Runtime::new().map_err(|cause| format!("{cause:#}")));
    runtime.as_ref().map_err(|cause| Error::Component(cause.clone()))
}

impl Runtime {
    fn new() -> wasmtime::Result<Self> {
        // Where no room can be reserved for a pool, each call maps its own memory.
        let engine = Engine::new(config().allocation_strategy(pool())).or_else(|_| Engine::new(&config()))?;
        let component = Component::new(&engine, COMPONENT)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        crate::wasi::add_to_linker(&mut linker)?;
        let tools = FileToolsPre::new(linker.instantiate_pre(&component)?)?;
        let clock = Clock::start(engine.clone())?;
        Ok(Self { engine, tools, clock })
    }

    /// Lets the engine's epoch advance as long as the result is held.
    pub(crate) fn tick(&self) -> Ticking<'_> {
        self.clock.change(|active| *active += 1);
        Ticking(&self.clock)
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.memory_init_cow(true);
    config.concurrency_support(false);
    // Without a directory that it can write to, each start compiles again.
    config.cache(Cache::from_file(None).ok());
    config
}

/// Memory, tables and stacks that are kept from call to call and given out clean.
fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(GUESTS);
    // A component is a core module and the small ones that join it to its imports.
    pool.total_core_instances(GUESTS * 4).total_tables(GUESTS * 4);
    pool.total_memories(GUESTS).total_stacks(GUESTS);
    pool.max_memory_size(1 << 32);
    // Zeroing these is cheaper than giving them back to the system and faulting them in again.
    pool.linear_memory_keep_resident(1 << 20).async_stack_keep_resident(1 << 16).table_keep_resident(1 << 16);
    pool
}

/// Advances the epoch while calls run, and sleeps while none does.
struct Clock {
    active: Mutex<usize>,
    changed: Condvar,
}

impl Clock {
    fn start(engine: Engine) -> std::io::Result<Arc<Self>> {
        let clock = Arc::new(Self { active: Mutex::new(0), changed: Condvar::new() });
        let own = Arc::clone(&clock);
        thread::Builder::new().name("paddock-clock".to_owned()).spawn(move || {
            loop {
                own.wait_for_calls();
                thread::sleep(TICK);
                engine.increment_epoch();
            }
        })?;
        Ok(clock)
    }

    fn wait_for_calls(&self) {
        let active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(active, |active| *active == 0));
    }

    fn change(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.active.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }
}

/// A call is running.
pub(crate) struct Ticking<'a>(&'a Clock);

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.change(|active| *active -= 1);
    }
}
