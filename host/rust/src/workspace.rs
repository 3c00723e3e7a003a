//! A workspace: directories, rules and limits, in which tools are called.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wasmtime::Store;

use crate::approval::{Approver, Desk, Grant};
use crate::bindings::exports::paddock::files::approval;
use crate::budget::Control;
use crate::builder::Builder;
use crate::command::Commands;
#[cfg(target_os = "linux")]
use crate::container::Container;
use crate::directory::Directory;
use crate::effect::Effect;
use crate::error::Error;
use crate::guarded::Guarded;
use crate::guest::Guest;
use crate::mount::Mount;
use crate::options::{CallOptions, CancelToken};
use crate::outcome::Outcome;
use crate::overlay::OverlayDir;
use crate::parallel;
use crate::policy::{Limits, Policy};
use crate::sandbox::Sandbox;
use crate::state::{self, StateDir};
use crate::store::{State, Surroundings};
use crate::types::{ErrorCode, Plan, ToolError};
use crate::watch::{Call, Listeners, Named, Watch};

/// Times that somebody is asked about one call.
const MAX_QUESTIONS: usize = 3;

/// Directories, rules and limits, in which tools are called: each call in a guest of its own.
///
/// Clones are the same workspace. Calls can be made from any number of threads
/// at once; those that change something wait for each other.
#[derive(Clone)]
pub struct Workspace(Arc<Inner>);

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) mounts: Vec<Mount>,
    /// Whose directories they are, which have to be those of a living process.
    #[cfg(target_os = "linux")]
    pub(crate) container: Option<Container>,
    pub(crate) state: Option<StateDir>,
    /// Where what calls change is put, in place of the mounts; the state directory is then in it.
    pub(crate) overlay: Option<OverlayDir>,
    /// What no guest may open or move.
    pub(crate) guarded: Arc<Guarded>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) limits: Limits,
    pub(crate) threads: Option<usize>,
    pub(crate) approver: Option<Approver>,
    pub(crate) desk: Desk,
    /// Who is told of calls, if anybody is.
    pub(crate) listeners: Option<Listeners>,
    /// The commands that tools may run, if they may.
    pub(crate) commands: Option<Commands>,
    /// The guest that has the tree, over the memory backend. It is none after a trap, since the tree went with it.
    pub(crate) kept: Option<Mutex<Option<Sandbox>>>,
}

impl Workspace {
    /// Says what a workspace is to be.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The workspace at `root`, with everything else by default.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, Error> {
        Self::builder().root(root.as_ref()).build()
    }

    /// An empty workspace in memory, which touches no disk and lasts as long as this value and its clones.
    ///
    /// Its calls are made one after the other. [`Workspace::load`] fills it, [`Workspace::snapshot`] takes it out.
    pub fn memory(policy: Policy) -> Result<Self, Error> {
        Self::builder().policy(policy).build_memory()
    }

    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// One whose tree is in the memory of a guest that is kept.
    pub(crate) fn kept(mut inner: Inner) -> Result<Self, Error> {
        let sandbox = inner.sandbox(&[], inner.control(None));
        inner.kept = Some(Mutex::new(Some(sandbox.map_err(|error| Error::Component(error.message))?)));
        Ok(Self::new(inner))
    }

    /// Calls a tool of the `paddock` dialect with its arguments, a JSON object.
    ///
    /// This blocks the thread until the tool is done; in async code, use [`Workspace::call_async`].
    pub fn call(&self, tool: &str, arguments: &str) -> Outcome {
        self.call_with(tool, arguments, &CallOptions::default())
    }

    /// Calls a tool, with a dialect, a way to cancel it and a way to watch it.
    pub fn call_with(&self, tool: &str, arguments: &str, options: &CallOptions) -> Outcome {
        let Effect { changes: changing, runs } = Effect::of(&options.dialect, tool);
        let name = Named { id: options.id.as_deref(), dialect: &options.dialect, tool, changing };
        self.watched(&name, |watch| {
            let call = Call { changing, options: Some(options), watch };
            let named = (options.dialect.as_str(), tool, arguments);
            let called = match self.0.commands.as_ref().filter(|_| runs) {
                Some(commands) => self.command(commands, &call, named),
                None => self.call_in(&call, named),
            };
            if let (Err(_), Some(watch)) = (&called, watch) {
                self.0.ask(watch, named);
            }
            called.unwrap_or_else(Outcome::failed)
        })
    }

    fn call_in(&self, call: &Call<'_>, (dialect, tool, arguments): (&str, &str, &str)) -> Result<Outcome, ToolError> {
        if call.changing {
            let asked = self.run_asking(
                call,
                async |guest, store| guest.tools(&mut *store)?.call_call(store, dialect, tool, arguments).await,
                |outcome| outcome.error.as_ref(),
            );
            return asked.map(|(outcome, plan)| Outcome { plan, ..Outcome::from(outcome) });
        }
        let answered = self.run_shared(
            call,
            async |guest, store| guest.tools(&mut *store)?.call_begin(store, dialect, tool, arguments).await,
            async |guest, store| guest.tools(&mut *store)?.call_finish(store).await,
        );
        answered.map(Outcome::from)
    }

    /// Calls a tool on a thread that may be blocked. Must be called in a tokio runtime.
    ///
    /// Where the future is dropped, the call is cancelled.
    pub async fn call_async(&self, tool: &str, arguments: &str, options: CallOptions) -> Outcome {
        let (workspace, tool, arguments) = (self.clone(), tool.to_owned(), arguments.to_owned());
        let _guard = CancelOnDrop(options.cancel.clone());
        let called = tokio::task::spawn_blocking(move || workspace.call_with(&tool, &arguments, &options)).await;
        called.unwrap_or_else(|cause| {
            Outcome::failed(ToolError::new(ErrorCode::Io, format!("the call was lost: {cause}")))
        })
    }

    /// Leave for one call to do what `plan` says, for that long: for a host that has somebody decide later than
    /// [`Builder::approver`] could. What is at the plan's paths has to be as it was.
    pub fn grant(&self, plan: &Plan, valid: Duration) -> Grant {
        self.0.desk.grant(plan, valid)
    }

    /// Runs a call that reads: in a fresh guest, or several where it is a search; over memory in the one that is kept.
    pub(crate) fn run_shared<R>(
        &self,
        call: &Call<'_>,
        begin: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<Option<R>>,
        finish: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        if self.0.kept.is_none() {
            return self.0.run_shared(call, begin, finish);
        }
        self.run(call, async |guest, store| match begin(guest, store).await? {
            Some(answer) => Ok(answer),
            None => finish(guest, store).await,
        })
    }

    /// Runs a call that may need approval, and again where somebody approves of it. What it still would need, with its answer.
    pub(crate) fn run_asking<R>(
        &self,
        call: &Call<'_>,
        body: impl AsyncFn(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
        error: impl Fn(&R) -> Option<&ToolError>,
    ) -> Result<(R, Option<Plan>), ToolError> {
        let attempt = |decision: Option<approval::Decision>| {
            self.run(call, async |guest, store| {
                if let Some(decision) = &decision {
                    guest.approval(&mut *store)?.call_decide(&mut *store, decision).await?;
                }
                let answer = body(guest, store).await?;
                let plan = match error(&answer) {
                    Some(error) if error.code == ErrorCode::ApprovalRequired => {
                        guest.approval(&mut *store)?.call_pending(store).await?
                    }
                    _ => None,
                };
                Ok((answer, plan))
            })
        };
        let grant = call.options.and_then(|options| options.grant.as_ref());
        let approver = call.options.and_then(|options| options.approver.as_ref()).or(self.0.approver.as_ref());
        let mut asked = attempt(grant.map(|grant| self.0.desk.take(grant)))?;
        // What is there may have changed while somebody decided, and then they are asked about that.
        for _ in 0..MAX_QUESTIONS {
            let (Some(plan), Some(approver)) = (&asked.1, approver) else { break };
            let Some(decision) = self.0.desk.decided(plan, approver.decide(plan)) else { break };
            asked = attempt(Some(decision))?;
        }
        Ok(asked)
    }

    /// Runs `body` in a guest: a fresh one, or over memory the one that is kept.
    pub(crate) fn run<R>(
        &self,
        call: &Call<'_>,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        match &self.0.kept {
            None => self.0.run_fresh(call, body),
            Some(kept) => self.0.run_kept(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), call, body),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The overlay of the workspace, and its inside.
    pub(crate) fn overlay_dir(&self) -> Option<&OverlayDir> {
        self.0.overlay.as_ref()
    }

    /// The names of all overlays over this workspace, in order.
    pub fn overlays(&self) -> std::io::Result<Vec<String>> {
        let state = self.0.overlay.as_ref().map(OverlayDir::base_state).or(self.0.state.as_ref());
        state.map_or(Ok(Vec::new()), OverlayDir::all)
    }

    /// Runs `body` over what is below the overlay.
    pub(crate) fn run_over_base<R>(
        &self,
        overlay: &OverlayDir,
        call: &Call<'_>,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        self.0.run_over_base(overlay, call, body)
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    pub(crate) fn listeners(&self) -> Option<&Listeners> {
        self.0.listeners.as_ref()
    }
}

impl Inner {
    pub(crate) fn run_fresh<R>(
        &self,
        call: &Call<'_>,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let control = self.control(call.options);
        let (mounts, _lock) = self.mounts(call.changing, &control)?;
        let mut sandbox = self.sandbox(&mounts, control.clone())?;
        let answer = sandbox.run(control, body)?;
        call.account(&mut sandbox);
        Ok(answer)
    }

    /// A guest that can only look.
    pub(crate) fn looking(&self, control: Control) -> Result<Sandbox, ToolError> {
        let state = self.state.as_ref().and_then(StateDir::get).map(StateDir::mount);
        let mounts: Vec<_> = self.mounts.iter().cloned().chain(state).map(|mount| mount.read_only()).collect();
        self.sandbox(&mounts, control)
    }

    /// Runs a call that `begin` makes, and where it leaves a search to be gone on with, that by several guests.
    fn run_shared<R>(
        &self,
        call: &Call<'_>,
        begin: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<Option<R>>,
        finish: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let control = self.control(call.options);
        let (mounts, _lock) = self.mounts(false, &control)?;
        let mut leader = self.sandbox(&mounts, control.clone())?;
        let answer = match leader.run(control.clone(), begin)? {
            Some(answer) => answer,
            None => {
                let threads = self.threads.unwrap_or_else(parallel::default_threads);
                leader = parallel::search(leader, &control, threads, |control| self.sandbox(&mounts, control))?;
                leader.run(control, finish)?
            }
        };
        call.account(&mut leader);
        Ok(answer)
    }

    fn run_kept<R>(
        &self,
        kept: &mut Option<Sandbox>,
        call: &Call<'_>,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let mut sandbox = kept.take().ok_or_else(|| {
            ToolError::new(ErrorCode::BackendGone, "the workspace in memory went with a call that was ended")
                .hint("the person who runs this has to make a new one from its last snapshot")
        })?;
        let answer = sandbox.run(self.control(call.options), body)?;
        *kept = call.account(&mut sandbox).then_some(sandbox);
        Ok(answer)
    }

    /// Says in `watch` what a call was to touch whose own guest cannot say it any more. A tree in memory went with that.
    fn ask(&self, watch: &Watch<'_>, call: (&str, &str, &str)) {
        if self.kept.is_none()
            && let Ok(mut sandbox) = self.sandbox(&self.mounts, self.control(None))
        {
            watch.ask_another(&mut sandbox, call);
        }
    }

    /// What a guest gets, with the lock if it is to change something or to recover from a crash.
    fn mounts(&self, changing: bool, control: &Control) -> Result<(Vec<Mount>, Option<File>), ToolError> {
        #[cfg(target_os = "linux")]
        self.container.as_ref().map_or(Ok(()), Container::check)?;
        let state = self.state.as_ref().and_then(|state| match changing {
            true => state.create().ok(),
            false => state.get(),
        });
        let is_to_lock = |state: &&Directory| changing || StateDir::has_journal(state);
        let lock = state.as_ref().filter(is_to_lock).map(|state| StateDir::lock(state, control)).transpose()?;
        let Some(overlay) = &self.overlay else {
            let mounts = self.mounts.iter().cloned().chain(state.map(StateDir::mount));
            // A journal that another call writes after the look for one is not for a call without the lock to follow.
            let may_recover = self.state.is_none()
                && self.mounts.first().is_some_and(|root| state::has_journal_inside(&root.directory));
            let only_looks = !changing && lock.is_none() && !may_recover;
            return Ok((mounts.map(|mount| if only_looks { mount.read_only() } else { mount }).collect(), lock));
        };
        // Where nothing may be changed, the guest says so itself.
        if changing && self.state.is_some() {
            let kept = if state.is_some() { overlay.keep_roots() } else { Err(io::ErrorKind::NotADirectory.into()) };
            kept.map_err(|cause| overlay.failed(&cause))?;
        }
        let own = state.into_iter().flat_map(|state| overlay.mount().into_iter().chain([StateDir::mount(state)]));
        // Whoever does not hold the lock only looks, or it would finish what another is doing.
        let own = own.map(|mount| if lock.is_some() { mount } else { mount.read_only() });
        Ok((self.mounts.iter().cloned().chain(own).collect(), lock))
    }

    /// Runs `body` with what is below the overlay to be changed, the overlay to look at, and the locks of both.
    fn run_over_base<R>(
        &self,
        overlay: &OverlayDir,
        call: &Call<'_>,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let control = self.control(None);
        let own = overlay.state();
        let lock = |state: &StateDir| {
            let state = state.create().map_err(|cause| overlay.failed(&cause))?;
            let lock = StateDir::lock(&state, &control)?;
            Ok::<_, ToolError>((state, lock))
        };
        let (_own, (base_state, _lock)) = (lock(&own)?, lock(overlay.base_state())?);
        let mounts = overlay.base().iter().cloned().chain(overlay.mount().map(|mount| mount.read_only()));
        let mounts: Vec<_> = mounts.chain([StateDir::mount(base_state)]).collect();
        let mut sandbox = self.sandbox(&mounts, control.clone())?;
        let answer = sandbox.run(control, body)?;
        call.account(&mut sandbox);
        Ok(answer)
    }

    fn sandbox(&self, mounts: &[Mount], control: Control) -> Result<Sandbox, ToolError> {
        let Self { environment, limits, guarded, .. } = self;
        Sandbox::new(&Surroundings { mounts, environment, limits, guarded }, control)
    }

    fn control(&self, options: Option<&CallOptions>) -> Control {
        let (ours, own) = (CallOptions::default(), Duration::from_millis(self.limits.max_time_ms));
        let options = options.unwrap_or(&ours);
        let time = options.time.map_or(own, |time| time.min(own));
        let now = Instant::now();
        // A time that no clock can hold is as good as a century.
        let deadline = now.checked_add(time).unwrap_or(now + Duration::from_secs(3_000_000_000));
        Control { deadline, cancel: options.cancel.clone(), progress: options.progress.clone() }
    }
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
