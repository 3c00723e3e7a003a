//! A new guest with its rights and its limits.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use wasmtime::Store;

use crate::budget::CallBudget;
use crate::engine::Runtime;
use crate::guest::Guest;
use crate::store::{SandboxConfig, State};
use crate::types::ToolError;

/// A guest and its store.
pub(crate) struct Sandbox {
    store: Store<State>,
    guest: Guest,
    runtime: Arc<Runtime>,
}

impl Sandbox {
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        around: &SandboxConfig<'_>,
        budget: CallBudget,
    ) -> Result<Self, ToolError> {
        let mut store = State::new(around, budget)?.store(&runtime.engine);
        match block_on(runtime.component.instantiate_async(&mut store)) {
            Ok(instance) => Ok(Self { store, guest: Guest::new(instance, Arc::clone(&runtime.exports)), runtime }),
            Err(trap) => Err(store.data().explain(&trap)),
        }
    }

    /// Runs `body`, which calls the guest. After an error the guest cannot be called again.
    pub(crate) fn run<R>(
        &mut self,
        budget: CallBudget,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        self.store.data_mut().budget = budget;
        self.store.set_epoch_deadline(1);
        let _ticking = self.runtime.tick();
        block_on(body(&self.guest, &mut self.store)).map_err(|trap| self.store.data().explain(&trap))
    }
}

/// Runs a future on this thread. A guest's calls wait only for the file system, which blocks the thread, so no
/// async runtime is needed. The thread may also belong to an async runtime.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
#[cfg(feature = "commands")]
mod answers;
#[cfg(test)]
pub(crate) mod mock_guest;
#[cfg(test)]
mod tests;
