//! One engine and one compiled component for the process.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::component::{InstancePre, Linker};
use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig};

use crate::cache;
use crate::error::Error;
use crate::guest::Exports;
use crate::sandbox::State;

/// The start of the component's SHA-256, by which what was compiled of it is found again.
const COMPONENT_NAME: &str = env!("PADDOCK_COMPONENT_NAME");

/// The component itself, as the build made it.
pub const COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/paddock.wasm"));

/// How often a running guest looks at its deadline and at cancellation.
const TICK: Duration = Duration::from_millis(10);

/// Guests that can be at once: calls under way, and workspaces in memory.
pub(crate) const GUESTS: u32 = 512;

/// What every call of the process shares.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) component: InstancePre<State>,
    pub(crate) exports: Exports,
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
        let engine = Engine::new(config().allocation_strategy(pool(true)))
            .or_else(|_| Engine::new(config().allocation_strategy(pool(false))))
            .or_else(|_| Engine::new(&config()))?;
        let component = cache::component(&engine, COMPONENT, COMPONENT_NAME)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        crate::wasi::add_to_linker(&mut linker)?;
        let component = linker.instantiate_pre(&component)?;
        let exports = Exports::of(&component)?;
        let clock = Clock::start(engine.clone())?;
        Ok(Self { engine, component, exports, clock })
    }

    /// Lets the engine's epoch advance as long as the result is held.
    pub(crate) fn tick(&self) -> Ticking<'_> {
        self.clock.begin();
        Ticking(&self.clock)
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.memory_init_cow(true);
    config.concurrency_support(false);
    config
}

/// Memory, tables and stacks that are kept from call to call and given out clean.
/// With `scanned`, a system that tells which pages were written: those are reset, and the others kept.
fn pool(scanned: bool) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(GUESTS);
    // A component is a core module and the small ones that join it to its imports.
    pool.total_core_instances(GUESTS * 4).total_tables(GUESTS * 4);
    pool.total_memories(GUESTS).total_stacks(GUESTS);
    pool.max_memory_size(1 << 32);
    // Zeroing so little is cheaper than giving it back to the system and faulting it in again.
    pool.async_stack_keep_resident(1 << 14).table_keep_resident(1 << 12);
    if scanned {
        pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(4 << 20);
    }
    pool
}

/// Advances the epoch while calls run, and sleeps when none has run for a while.
struct Clock {
    /// Calls under way.
    active: AtomicUsize,
    thread: OnceLock<Thread>,
    asleep: AtomicBool,
}

/// Ticks without a call before the clock sleeps: waking it costs more than a call.
const IDLE_TICKS: u32 = 100;

impl Clock {
    fn start(engine: Engine) -> std::io::Result<Arc<Self>> {
        let clock = Self { active: AtomicUsize::new(0), thread: OnceLock::new(), asleep: AtomicBool::new(false) };
        let clock = Arc::new(clock);
        let own = Arc::clone(&clock);
        let ticking = thread::Builder::new().name("paddock-clock".to_owned()).spawn(move || own.tick(&engine))?;
        clock.thread.get_or_init(|| ticking.thread().clone());
        Ok(clock)
    }

    fn tick(&self, engine: &Engine) {
        let mut idle = 0;
        loop {
            thread::sleep(TICK);
            engine.increment_epoch();
            idle = if self.active.load(Ordering::SeqCst) == 0 { idle + 1 } else { 0 };
            if idle >= IDLE_TICKS {
                self.asleep.store(true, Ordering::SeqCst);
                // A call that began before it could see this has to be seen here.
                while self.active.load(Ordering::SeqCst) == 0 {
                    thread::park();
                }
                self.asleep.store(false, Ordering::SeqCst);
            }
        }
    }

    fn begin(&self) {
        self.active.fetch_add(1, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

/// A call is running.
pub(crate) struct Ticking<'a>(&'a Clock);

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::SeqCst);
    }
}
