//! A fresh guest, its rights and its limits.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use wasmtime::component::ResourceTable;
use wasmtime::{PoolConcurrencyLimitError, Store, UpdateDeadline};
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::engine::{GUESTS, Runtime, runtime};
use crate::guarded::Guarded;
use crate::guest::Guest;
use crate::limits::{Limiter, limiter};
use crate::mount::Mount;
use crate::options::{CancelToken, Progress};
use crate::policy::Limits;
use crate::types::{ErrorCode, ToolError};
use crate::wasi::access_control::AccessControl;
#[cfg(target_os = "linux")]
use crate::wasi::mode::OwnLinks;

/// Open files, streams and directories that a guest may have at once.
const RESOURCES: usize = 100_000;

/// What a guest may write to standard error: the message of a panic, in practice.
const STDERR_BYTES: usize = 64 * 1024;

/// One guest with the store it lives in.
pub(crate) struct Sandbox {
    store: Store<State>,
    guest: Guest,
    runtime: &'static Runtime,
}

/// What a guest finds: directories and environment variables, and nothing else.
pub(crate) struct Surroundings<'a> {
    pub(crate) mounts: &'a [Mount],
    pub(crate) environment: &'a [(String, String)],
    pub(crate) limits: &'a Limits,
    pub(crate) guarded: &'a Arc<Guarded>,
}

/// When a call has to end.
#[derive(Clone)]
pub(crate) struct Control {
    pub(crate) deadline: Instant,
    pub(crate) cancel: CancelToken,
    pub(crate) progress: Progress,
}

/// The store's data.
pub(crate) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    limiter: Limiter,
    stderr: MemoryOutputPipe,
    pub(crate) control: Control,
    /// What the guest finds open, each by its guest path.
    pub(crate) preopens: Vec<(Dir, String)>,
    /// The directories are a container's, whose links can well be absolute.
    pub(crate) is_contained: bool,
    pub(crate) access_control: AccessControl,
    /// Second names that the guest gave to files.
    #[cfg(target_os = "linux")]
    pub(crate) own_links: OwnLinks,
    /// Listings of directories that are open.
    #[cfg(target_os = "linux")]
    pub(crate) listings: usize,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Sandbox {
    pub(crate) fn new(around: &Surroundings<'_>, control: Control) -> Result<Self, ToolError> {
        let runtime = runtime().map_err(|cause| ToolError::new(ErrorCode::Io, cause.to_string()))?;
        let mut store = State::new(around, control)?.store(runtime);
        match block_on(runtime.component.instantiate_async(&mut store)) {
            Ok(instance) => Ok(Self { store, guest: Guest::new(instance, &runtime.exports), runtime }),
            Err(trap) => Err(store.data().explain(&trap)),
        }
    }

    /// Runs `body`, which calls the guest. A guest that failed here cannot be called again.
    pub(crate) fn run<R>(
        &mut self,
        control: Control,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        self.store.data_mut().control = control;
        self.store.set_epoch_deadline(1);
        let _ticking = self.runtime.tick();
        block_on(body(&self.guest, &mut self.store)).map_err(|trap| self.store.data().explain(&trap))
    }
}

impl State {
    fn new(around: &Surroundings<'_>, control: Control) -> Result<Self, ToolError> {
        let stderr = MemoryOutputPipe::new(STDERR_BYTES);
        let mut wasi = WasiCtxBuilder::new();
        // The thread is the caller's to block.
        wasi.allow_blocking_current_thread(true).stderr(stderr.clone()).envs(around.environment);
        let preopen = |mount: &Mount| mount.preopen().map_err(|cause| gone(mount, &cause));
        let preopens = around.mounts.iter().map(preopen).collect::<Result<_, _>>()?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES);
        let is_contained = around.mounts.iter().any(|mount| mount.is_contained);
        Ok(Self {
            wasi: wasi.build(),
            table,
            limiter: limiter(around.limits.max_memory_bytes),
            stderr,
            control,
            preopens,
            is_contained,
            access_control: AccessControl::new(around.guarded),
            #[cfg(target_os = "linux")]
            own_links: OwnLinks::default(),
            #[cfg(target_os = "linux")]
            listings: 0,
        })
    }

    /// A store that ends what runs in it, when its time is up or it wants more memory than it may have.
    fn store(self, runtime: &Runtime) -> Store<Self> {
        let mut store = Store::new(&runtime.engine, self);
        store.limiter(|state| &mut state.limiter);
        store.epoch_deadline_callback(|store| store.data().control.check());
        store.set_epoch_deadline(1);
        store
    }

    /// Why a guest was ended.
    fn explain(&self, trap: &wasmtime::Error) -> ToolError {
        if let Some(stop) = trap.downcast_ref::<Stop>() {
            return stop.explain();
        }
        if self.limiter.exceeded {
            return ToolError::new(ErrorCode::LimitExceeded, "the call needs more memory than it may have")
                .hint("ask for less at once: a part of the file, a narrower path or glob, a smaller limit");
        }
        if trap.is::<PoolConcurrencyLimitError>() {
            let message = format!("{GUESTS} calls are under way in this process, which is the most");
            return ToolError::new(ErrorCode::LimitExceeded, message).hint("call again when others have ended");
        }
        let said = String::from_utf8_lossy(&self.stderr.contents()).trim().to_owned();
        let said = if said.is_empty() { format!("{:#}", trap.root_cause()) } else { said };
        ToolError::new(ErrorCode::Io, format!("the component failed: {said}"))
            .hint("this is a defect of the tool, not of the call; report it with the arguments")
    }
}

fn gone(mount: &Mount, cause: &std::io::Error) -> ToolError {
    ToolError::new(ErrorCode::BackendGone, format!("cannot open the root `{}`: {cause}", mount.guest))
        .hint("no call can work in it any more; the person who runs this has to open the workspace again")
}

/// The host ended the call.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum Stop {
    #[error("the call was cancelled")]
    Cancelled,
    #[error("the call took too long")]
    Deadline,
}

impl Stop {
    pub(crate) fn explain(self) -> ToolError {
        match self {
            Self::Cancelled => ToolError::new(ErrorCode::Cancelled, "the call was cancelled"),
            Self::Deadline => ToolError::new(ErrorCode::LimitExceeded, "the call used up its time and was ended")
                .hint("ask for less at once: a narrower path or glob, a smaller limit"),
        }
    }
}

impl Control {
    /// Ends what nobody can cancel after that long.
    pub(crate) fn within(patience: Duration) -> Self {
        let deadline = Instant::now() + patience;
        Self { deadline, cancel: CancelToken::default(), progress: Progress::default() }
    }

    /// Whether the call has to end now.
    pub(crate) fn stop(&self) -> Option<Stop> {
        if self.cancel.is_cancelled() {
            return Some(Stop::Cancelled);
        }
        (Instant::now() >= self.deadline).then_some(Stop::Deadline)
    }

    fn check(&self) -> wasmtime::Result<UpdateDeadline> {
        self.stop().map_or(Ok(UpdateDeadline::Continue(1)), |stop| Err(stop.into()))
    }
}

/// Runs a future on this thread. A guest's calls never wait for anything but the
/// file system, which blocks the thread, so no runtime is needed; and a thread
/// that has one already is no obstacle.
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
mod answers;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod twin;
