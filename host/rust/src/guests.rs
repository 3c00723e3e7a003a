//! The guests of a workspace. Each call gets a fresh guest; with the memory backend, the guest that holds the tree.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use wasmtime::Store;

use crate::budget::CallBudget;
use crate::call::Call;
use crate::engine::runtime;
use crate::engine::shared::Engine;
use crate::error::{Error, Failure};
use crate::guest::Guest;
use crate::index::{BackgroundIndex, PATIENCE};
use crate::mount::Mount;
use crate::options::CallOptions;
use crate::parallel;
use crate::policy::Limits;
use crate::roots::Roots;
use crate::sandbox::Sandbox;
use crate::store::{SandboxConfig, State};
use crate::types::{ErrorCode, IndexPart, ToolError};
use crate::watch::Watch;

/// Time of one part of an update of the search index, after the index has been read; a part takes longer if the reading did. A
/// call that changes something waits for one part.
const INDEX_PART: Duration = Duration::from_millis(100);

/// Configuration and limits of the guests of a workspace.
#[derive(Default)]
pub(crate) struct Guests {
    /// The caller's engine; `None` for the one that all workspaces of the process share.
    pub(crate) engine: Option<Engine>,
    pub(crate) roots: Roots,
    environment: Vec<(String, String)>,
    pub(crate) limits: Limits,
    threads: Option<usize>,
    /// Guest that holds the tree of the memory backend. `None` after a trap, which destroys the tree.
    persistent: Option<Mutex<Option<Sandbox>>>,
    /// Updates of the search index after long searches, if there are any.
    background_index: OnceLock<BackgroundIndex>,
}

impl Guests {
    pub(crate) fn new(
        engine: Option<Engine>,
        roots: Roots,
        environment: Vec<(String, String)>,
        limits: Limits,
        threads: Option<usize>,
    ) -> Self {
        Self { engine, roots, environment, limits, threads, persistent: None, background_index: OnceLock::new() }
    }

    /// Creates guests with a persistent guest, whose memory holds the tree.
    pub(crate) fn keep(self) -> Result<Self, Error> {
        let sandbox =
            self.sandbox(&[], self.budget(None)).map_err(|error| Error::Component(Arc::new(Failure(error))))?;
        Ok(Self { persistent: Some(Mutex::new(Some(sandbox))), ..self })
    }

    /// Has the search index updated after long searches.
    pub(crate) fn index_in_background(self: &Arc<Self>) {
        let guests = Arc::downgrade(self);
        // The next search requests another pass after an error, such as a lock that another call holds: the thread has other
        // workspaces too.
        let part = move |start: Option<&str>| guests.upgrade()?.update_index(start, Some(PATIENCE)).ok()?.next;
        let _ = self.background_index.set(BackgroundIndex::new(Box::new(part)));
    }

    /// Adds files to the search index, as one part of a pass from `start`. Waits for the locks for this time, by default for
    /// that of a call.
    pub(crate) fn update_index(&self, start: Option<&str>, patience: Option<Duration>) -> Result<IndexPart, ToolError> {
        if self.persistent.is_some() {
            return Ok(IndexPart { added: 0, unsettled: 0, next: None });
        }
        let time_ms = u64::try_from(INDEX_PART.as_millis()).unwrap_or(u64::MAX);
        let budget = patience.map_or_else(|| self.budget(None), CallBudget::within);
        let (mounts, _locks) = self.roots.mounts(true, &budget)?;
        let budget = self.budget(None);
        let mut sandbox = self.sandbox(&mounts, budget.clone())?;
        sandbox.run(budget, async |guest, store| guest.index(&mut *store)?.call_update(store, start, time_ms).await)?
    }

    /// Runs a call that reads: in a fresh guest, in several guests for a search, or in the persistent guest.
    pub(crate) fn run_shared<R>(
        &self,
        call: &Call<'_>,
        begin: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<Option<R>>,
        finish: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        if self.persistent.is_none() {
            return self.run_several(call, begin, finish);
        }
        self.run(call, async |guest, store| match begin(guest, store).await? {
            Some(answer) => Ok(answer),
            None => finish(guest, store).await,
        })
    }

    /// Runs `body` in a fresh guest, or in the persistent guest.
    pub(crate) fn run<R>(
        &self,
        call: &Call<'_>,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        match &self.persistent {
            None => self.run_fresh(call, body),
            Some(persistent) => {
                self.run_persistent(&mut persistent.lock().unwrap_or_else(PoisonError::into_inner), call, body)
            }
        }
    }

    /// Runs `body` in a fresh guest.
    pub(crate) fn run_fresh<R>(
        &self,
        call: &Call<'_>,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        self.run_fresh_under(self.budget(call.options), call, body)
    }

    /// Runs `body` in a fresh guest with its own time limit.
    pub(crate) fn run_fresh_under<R>(
        &self,
        budget: CallBudget,
        call: &Call<'_>,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let (mounts, _locks) = self.roots.mounts(call.changing, &budget)?;
        self.run_with(&mounts, budget, call, body)
    }

    /// Creates a guest that cannot change files.
    #[cfg(feature = "commands")]
    pub(crate) fn looking(&self, budget: CallBudget) -> Result<Sandbox, ToolError> {
        self.sandbox(&self.roots.read_only()?, budget)
    }

    /// Runs a call that `begin` starts. A search that does not end at once continues in several guests.
    fn run_several<R>(
        &self,
        call: &Call<'_>,
        begin: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<Option<R>>,
        finish: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let budget = self.budget(call.options);
        let (mounts, _locks) = self.roots.mounts(false, &budget)?;
        let mut leader = self.sandbox(&mounts, budget.clone())?;
        let answer = match leader.run(budget.clone(), begin)? {
            Some(answer) => answer,
            None => {
                let threads = self.threads.unwrap_or_else(parallel::default_threads);
                leader = parallel::search(leader, &budget, threads, |budget| self.sandbox(&mounts, budget))?;
                let answer = leader.run(budget, finish)?;
                if let Some(index) = self.background_index.get() {
                    index.request();
                }
                answer
            }
        };
        call.account(&mut leader);
        Ok(answer)
    }

    fn run_persistent<R>(
        &self,
        persistent: &mut Option<Sandbox>,
        call: &Call<'_>,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let mut sandbox = persistent.take().ok_or_else(|| {
            ToolError::new(ErrorCode::BackendGone, "the workspace in memory was lost with a call that was ended")
                .hint("the person who runs this has to make a new one from its last snapshot")
        })?;
        let answer = sandbox.run(self.budget(call.options), body)?;
        *persistent = call.account(&mut sandbox).then_some(sandbox);
        Ok(answer)
    }

    /// Records the requested paths in `watch` for a call whose guest cannot be asked any more. A tree in memory is
    /// lost with its guest.
    pub(crate) fn record_requested_paths(&self, watch: &Watch<'_>, call: (&str, &str, &str)) {
        if self.persistent.is_none()
            && let Ok(mut sandbox) = self.sandbox(&self.roots.mounts, self.budget(None))
        {
            watch.query_requested_paths(&mut sandbox, call);
        }
    }

    /// Runs `body` in a fresh guest with these mounts, whose locks the caller holds.
    pub(crate) fn run_with<R>(
        &self,
        mounts: &[Mount],
        budget: CallBudget,
        call: &Call<'_>,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let mut sandbox = self.sandbox(mounts, budget.clone())?;
        let answer = sandbox.run(budget, body)?;
        call.account(&mut sandbox);
        Ok(answer)
    }

    fn sandbox(&self, mounts: &[Mount], budget: CallBudget) -> Result<Sandbox, ToolError> {
        let Self { roots, environment, limits, .. } = self;
        let runtime = match &self.engine {
            Some(engine) => Arc::clone(&engine.runtime),
            None => runtime().map_err(|cause| ToolError::new(ErrorCode::Io, cause.with_sources()))?,
        };
        Sandbox::new(runtime, &SandboxConfig { mounts, environment, limits, guarded: &roots.guarded }, budget)
    }

    /// Returns the budget of a call with these options.
    pub(crate) fn budget(&self, options: Option<&CallOptions>) -> CallBudget {
        let (ours, own) = (CallOptions::default(), Duration::from_millis(self.limits.max_time_ms));
        let options = options.unwrap_or(&ours);
        let time = options.time.map_or(own, |time| time.min(own));
        let now = Instant::now();
        // A time limit that exceeds the clock is replaced by a century.
        let deadline = now.checked_add(time).unwrap_or(now + Duration::from_secs(3_000_000_000));
        CallBudget { deadline, cancel: options.cancel.clone(), progress: options.progress.clone() }
    }
}
