//! The clock that makes running guests check their deadline and cancellation.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::Engine;

/// Interval of these checks.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// Advances the epoch while calls run, and sleeps when none has run for a while.
pub(crate) struct Clock {
    /// Number of calls in progress.
    active: AtomicUsize,
    thread: OnceLock<Thread>,
    asleep: AtomicBool,
}

/// Number of ticks without a call before the clock sleeps: waking it costs more than a call.
const IDLE_TICKS: u32 = 100;

impl Clock {
    pub(crate) fn start(engine: Engine) -> std::io::Result<Arc<Self>> {
        let clock = Self { active: AtomicUsize::new(0), thread: OnceLock::new(), asleep: AtomicBool::new(false) };
        let clock = Arc::new(clock);
        let own = Arc::clone(&clock);
        let ticking = thread::Builder::new().name("paddock-clock".to_owned()).spawn(move || own.run(&engine))?;
        clock.thread.get_or_init(|| ticking.thread().clone());
        Ok(clock)
    }

    fn run(&self, engine: &Engine) {
        let mut idle = 0;
        loop {
            thread::sleep(TICK);
            engine.increment_epoch();
            idle = if self.active.load(Ordering::SeqCst) == 0 { idle + 1 } else { 0 };
            if idle >= IDLE_TICKS {
                self.asleep.store(true, Ordering::SeqCst);
                // A call that started before it could see the flag must be noticed here.
                while self.active.load(Ordering::SeqCst) == 0 {
                    thread::park();
                }
                self.asleep.store(false, Ordering::SeqCst);
            }
        }
    }

    /// Advances the epoch until the result is dropped.
    pub(crate) fn tick(&self) -> Ticking<'_> {
        self.active.fetch_add(1, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
        Ticking(self)
    }
}

/// A running call, during which the epoch advances.
pub(crate) struct Ticking<'a>(&'a Clock);

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::SeqCst);
    }
}
