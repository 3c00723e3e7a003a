//! Data of a guest's store: the sandbox configuration, and the reason why the guest ended.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime::{Engine, PoolConcurrencyLimitError, Store};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::budget::{CallBudget, Interruption};
use crate::guarded::Guarded;
use crate::limits::{Limiter, limiter};
use crate::mount::Mount;
use crate::options::Progress;
use crate::policy::Limits;
use crate::types::{ErrorCode, ToolError};
use crate::wasi::{Files, FilesView, LinkTargets};

/// Maximum number of open files, streams and directories of a guest.
const RESOURCES: usize = 100_000;

/// Maximum number of bytes that a guest may write to standard error: in practice, a panic message.
const STDERR_BYTES: usize = 64 * 1024;

/// Sandbox configuration: everything that a guest can access.
pub(crate) struct SandboxConfig<'a> {
    pub(crate) mounts: &'a [Mount],
    pub(crate) environment: &'a [(String, String)],
    pub(crate) limits: &'a Limits,
    pub(crate) guarded: &'a Arc<Guarded>,
}

/// Data of the store.
pub(crate) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    limiter: Limiter,
    stderr: MemoryOutputPipe,
    pub(crate) budget: CallBudget,
    files: Files,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl FilesView for State {
    fn files(&mut self) -> &mut Files {
        &mut self.files
    }

    fn progress(&self) -> &Progress {
        &self.budget.progress
    }
}

impl State {
    pub(crate) fn new(around: &SandboxConfig<'_>, budget: CallBudget) -> Result<Self, ToolError> {
        let stderr = MemoryOutputPipe::new(STDERR_BYTES);
        let mut wasi = WasiCtxBuilder::new();
        // Calls block the caller's thread in any case.
        wasi.allow_blocking_current_thread(true).stderr(stderr.clone()).envs(around.environment);
        let preopen = |mount: &Mount| mount.preopen().map_err(|cause| gone(mount, &cause));
        let preopens = around.mounts.iter().map(preopen).collect::<Result<_, _>>()?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES);
        Ok(Self {
            wasi: wasi.build(),
            table,
            limiter: limiter(around.limits.max_memory_bytes),
            stderr,
            budget,
            files: Files::new(preopens, LinkTargets::of(around.mounts), around.guarded),
        })
    }

    /// Returns a store that ends the guest when its time is up, and enforces its memory limit.
    pub(crate) fn store(self, engine: &Engine) -> Store<Self> {
        let mut store = Store::new(engine, self);
        store.limiter(|state| &mut state.limiter);
        store.epoch_deadline_callback(|store| store.data().budget.check());
        store.set_epoch_deadline(1);
        store
    }

    /// Returns the error that explains why a guest ended.
    pub(crate) fn explain(&self, trap: &wasmtime::Error) -> ToolError {
        if let Some(interruption) = trap.downcast_ref::<Interruption>() {
            return interruption.explain();
        }
        if self.limiter.exceeded {
            return ToolError::new(ErrorCode::LimitExceeded, "the call needs more memory than it may have")
                .hint("ask for less at once: a part of the file, a narrower path or glob, a smaller limit");
        }
        if trap.is::<PoolConcurrencyLimitError>() {
            let message = "the maximum number of concurrent calls of this process is reached";
            return ToolError::new(ErrorCode::LimitExceeded, message).hint("call again when others have ended");
        }
        let message = String::from_utf8_lossy(&self.stderr.contents()).trim().to_owned();
        let message = if message.is_empty() { format!("{:#}", trap.root_cause()) } else { message };
        ToolError::new(ErrorCode::Io, format!("the component failed: {message}"))
            .hint("this is a defect of the tool, not of the call; report it with the arguments")
    }
}

fn gone(mount: &Mount, cause: &std::io::Error) -> ToolError {
    ToolError::new(ErrorCode::BackendGone, format!("cannot open the root `{}`: {cause}", mount.guest))
        .hint("calls can no longer use it; the person who runs this has to open the workspace again")
}
