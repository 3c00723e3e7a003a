//! A workspace: directories, rules and limits, in which tools are called.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use wasmtime::Store;

use crate::approval::{Approver, Decision, Desk, Grant};
use crate::bindings::exports::paddock::files::approval;
use crate::cache;
use crate::engine;
use crate::error::Error;
use crate::guest::Guest;
use crate::mount::{self, Mount, WORKSPACE, Wanted};
use crate::options::{CallOptions, CancelToken, DIALECT};
use crate::outcome::Outcome;
use crate::parallel;
use crate::policy::{self, Access, Backend, Levels, Limits, Policy};
use crate::sandbox::{Control, Sandbox, State, Surroundings};
use crate::state::{self, StateChoice, StateDir};
use crate::types::{ErrorCode, Plan, Tool, ToolError};

/// Directories, rules and limits, in which tools are called: each call in a guest of its own.
///
/// Clones are the same workspace. Calls can be made from any number of threads
/// at once; those that change something wait for each other.
#[derive(Clone)]
pub struct Workspace(Arc<Inner>);

struct Inner {
    mounts: Vec<Mount>,
    state: Option<StateDir>,
    environment: Vec<(String, String)>,
    limits: Limits,
    threads: Option<usize>,
    approver: Option<Approver>,
    desk: Desk,
    /// The guest that has the tree, over the memory backend. It is none after a trap, since the tree went with it.
    kept: Option<Mutex<Option<Sandbox>>>,
}

/// Times that somebody is asked about one call.
const MAX_QUESTIONS: usize = 3;

/// Says what a workspace is to be.
#[derive(Clone, Default)]
pub struct Builder {
    roots: Vec<Wanted>,
    settings: Map<String, Value>,
    private: Vec<PathBuf>,
    environment: Vec<(String, String)>,
    state: StateChoice,
    threads: Option<usize>,
    approver: Option<Approver>,
}

impl Builder {
    /// The workspace itself: relative paths start here.
    #[must_use]
    pub fn root(self, directory: impl Into<PathBuf>) -> Self {
        self.root_with(directory, Access::ReadWrite)
    }

    /// The workspace itself, with what may be done in it.
    #[must_use]
    pub fn root_with(mut self, directory: impl Into<PathBuf>, access: Access) -> Self {
        self.roots.retain(|root| root.guest.as_deref() != Some(WORKSPACE));
        self.roots.insert(0, Wanted { host: directory.into(), guest: Some(WORKSPACE.to_owned()), access });
        self
    }

    /// A further directory. Tools see it at `guest`, `/` and one name, and by its own absolute path.
    #[must_use]
    pub fn mount(mut self, directory: impl Into<PathBuf>, guest: impl Into<String>, access: Access) -> Self {
        self.roots.push(Wanted { host: directory.into(), guest: Some(guest.into()), access });
        self
    }

    /// A further directory, at `/` and its own name, numbered where that is taken.
    #[must_use]
    pub fn further_root(mut self, directory: impl Into<PathBuf>, access: Access) -> Self {
        self.roots.push(Wanted { host: directory.into(), guest: None, access });
        self
    }

    /// Nothing may be changed in any root.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.settings.insert("read_only".to_owned(), Value::Bool(true));
        self
    }

    /// What tools may do, in place of all that was said of it before.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings = policy.settings();
        self
    }

    /// The same from JSON, such as `{"read_only": true, "limits": {"max_lines": 500}}`. Unknown fields are errors.
    pub fn policy_json(mut self, json: &str) -> Result<Self, Error> {
        self.settings = policy::parse(json)?;
        Ok(self)
    }

    /// The same from the levels of a policy, whose own files no tool sees or changes. What is said afterwards
    /// cannot undo what the workspace's file narrows.
    pub fn policy_levels(mut self, levels: &Levels) -> Result<Self, Error> {
        self.settings = levels.settings()?;
        self.private.extend(levels.own_files());
        Ok(self)
    }

    /// What one call may use.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        let limits = Policy { limits, ..Policy::default() }.settings().remove("limits");
        self.settings.insert("limits".to_owned(), limits.unwrap_or_else(|| Value::Object(Map::new())));
        self
    }

    /// How many threads one search may use: as many as there are processors, at most 8, unless this is called.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Who is asked about calls that need approval, on the thread of the call. Without anybody, they fail with
    /// `approval-required`, and [`Outcome::plan`] says what to ask.
    #[must_use]
    pub fn approver(mut self, approver: impl Fn(&Plan) -> Decision + Send + Sync + 'static) -> Self {
        self.approver = Some(Approver::new(approver));
        self
    }

    /// An environment variable for the guest.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Keeps journals here, not below the user's own state directory. No two workspaces may share it.
    #[must_use]
    pub fn state_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.state = StateChoice::At(directory.into());
        self
    }

    /// Keeps journals in `.paddock/` inside the workspace, and takes no lock: for a workspace that only one process changes.
    #[must_use]
    pub fn no_state_dir(mut self) -> Self {
        self.state = StateChoice::None;
        self
    }

    /// Opens the workspace. Fails where a root is no directory or a guest path is taken. What the policy allows
    /// beside the roots follows them: its directories, as they are named there, then the whole file system.
    pub fn build(self) -> Result<Workspace, Error> {
        let policy = Policy::new(self.settings.clone(), DIALECT)?;
        let mounts = mount::all(&self.roots, &policy)?;
        let workspace = mounts.first().ok_or(Error::NoRoot)?;
        let writable = mounts.iter().any(|mount| mount.access == Access::ReadWrite);
        let state = if writable { self.state.resolve(&workspace.host) } else { None };
        let own = [state.as_ref().map(|state| state.path().to_owned()), state::parent(), cache::directory()];
        let own = own.into_iter().chain([policy::config_directory()]).flatten().chain(self.private);
        let own: Vec<_> = own.chain(mount::of_the_kernel()).map(|path| policy::trail(&path)).collect();
        let desk = Desk::new();
        let mut environment = self.environment;
        let told = policy::environment(&self.settings, Backend::Wasi, &mounts, &own, desk.key())?;
        environment.push(("PADDOCK_POLICY".to_owned(), told));
        let limits = policy.limits;
        let Self { threads, approver, .. } = self;
        Ok(Workspace(Arc::new(Inner { mounts, state, environment, limits, threads, approver, desk, kept: None })))
    }
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
        Self::memory_with(policy, None)
    }

    /// The same, with somebody who is asked about calls that need approval.
    pub fn memory_with(policy: Policy, approver: Option<Approver>) -> Result<Self, Error> {
        let desk = Desk::new();
        let text = policy::environment(&policy.settings(), Backend::Memory, &[], &[], desk.key())?;
        let environment = vec![("PADDOCK_POLICY".to_owned(), text)];
        let mut inner = Inner { environment, limits: policy.limits, approver, desk, ..Inner::bare() };
        let sandbox = inner.sandbox(&[], inner.control(&CallOptions::default()));
        inner.kept = Some(Mutex::new(Some(sandbox.map_err(|error| Error::Component(error.message))?)));
        Ok(Self(Arc::new(inner)))
    }

    /// Calls a tool of the `paddock` dialect with its arguments, a JSON object.
    ///
    /// This blocks the thread until the tool is done; in async code, use [`Workspace::call_async`].
    pub fn call(&self, tool: &str, arguments: &str) -> Outcome {
        self.call_with(tool, arguments, &CallOptions::default())
    }

    /// Calls a tool, with a dialect, a way to cancel it and a way to watch it.
    pub fn call_with(&self, tool: &str, arguments: &str, options: &CallOptions) -> Outcome {
        let dialect = options.dialect.as_str();
        let called = if changes(dialect, tool) {
            let called = self.run_asking(
                options,
                async |guest, store| guest.tools(&mut *store)?.call_call(store, dialect, tool, arguments).await,
                |outcome| outcome.error.as_ref(),
            );
            return match called {
                Ok((outcome, plan)) => Outcome { plan, ..Outcome::from(outcome) },
                Err(error) => Outcome::failed(error),
            };
        } else {
            self.run_shared(
                options,
                async |guest, store| guest.tools(&mut *store)?.call_begin(store, dialect, tool, arguments).await,
                async |guest, store| guest.tools(&mut *store)?.call_finish(store).await,
            )
        };
        called.map_or_else(Outcome::failed, Outcome::from)
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

    /// Replaces the whole tree of a workspace in memory by a tar archive's.
    pub fn load(&self, archive: &[u8]) -> Result<(), ToolError> {
        self.run(true, &CallOptions::default(), async |guest, store| {
            guest.session(&mut *store)?.call_load(store, archive).await
        })?
    }

    /// The whole tree of a workspace in memory, as a tar archive.
    pub fn snapshot(&self) -> Result<Vec<u8>, ToolError> {
        self.run(false, &CallOptions::default(), async |guest, store| {
            guest.session(&mut *store)?.call_snapshot(store).await
        })?
    }

    /// Runs a call that reads: in a fresh guest, or several where it is a search; over memory in the one that is kept.
    pub(crate) fn run_shared<R>(
        &self,
        options: &CallOptions,
        begin: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<Option<R>>,
        finish: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        if self.0.kept.is_none() {
            return self.0.run_shared(self.0.control(options), begin, finish);
        }
        self.run(false, options, async |guest, store| match begin(guest, store).await? {
            Some(answer) => Ok(answer),
            None => finish(guest, store).await,
        })
    }

    /// Runs a call that may need approval, and again where somebody approves of it. What it still would need, with its answer.
    pub(crate) fn run_asking<R>(
        &self,
        options: &CallOptions,
        body: impl AsyncFn(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
        error: impl Fn(&R) -> Option<&ToolError>,
    ) -> Result<(R, Option<Plan>), ToolError> {
        let attempt = |decision: Option<approval::Decision>| {
            self.run(true, options, async |guest, store| {
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
        let mut asked = attempt(options.grant.as_ref().map(|grant| self.0.desk.take(grant)))?;
        // What is there may have changed while somebody decided, and then they are asked about that.
        for _ in 0..MAX_QUESTIONS {
            let (Some(plan), Some(approver)) = (&asked.1, options.approver.as_ref().or(self.0.approver.as_ref()))
            else {
                break;
            };
            let Some(decision) = self.0.desk.decided(plan, approver.decide(plan)) else { break };
            asked = attempt(Some(decision))?;
        }
        Ok(asked)
    }

    /// Runs `body` in a guest: a fresh one, or over memory the one that is kept.
    pub(crate) fn run<R>(
        &self,
        changing: bool,
        options: &CallOptions,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let control = self.0.control(options);
        match &self.0.kept {
            None => self.0.run_fresh(changing, control, body),
            Some(kept) => run_kept(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), control, body),
        }
    }
}

impl Inner {
    fn bare() -> Self {
        Self {
            mounts: Vec::new(),
            state: None,
            environment: Vec::new(),
            limits: Limits::default(),
            threads: None,
            approver: None,
            desk: Desk::default(),
            kept: None,
        }
    }

    fn run_fresh<R>(
        &self,
        changing: bool,
        control: Control,
        body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let (mounts, _lock) = self.mounts(changing, &control)?;
        self.sandbox(&mounts, control.clone())?.run(control, body)
    }

    /// Runs a call that `begin` makes, and where it leaves a search to be gone on with, that by several guests.
    fn run_shared<R>(
        &self,
        control: Control,
        begin: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<Option<R>>,
        finish: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
    ) -> Result<R, ToolError> {
        let (mounts, _lock) = self.mounts(false, &control)?;
        let mut leader = self.sandbox(&mounts, control.clone())?;
        if let Some(answer) = leader.run(control.clone(), begin)? {
            return Ok(answer);
        }
        let threads = self.threads.unwrap_or_else(parallel::default_threads);
        let mut leader = parallel::search(leader, &control, threads, |control| self.sandbox(&mounts, control))?;
        leader.run(control, finish)
    }

    /// What a guest gets, with the lock if it is to change something or to recover from a crash.
    fn mounts(&self, changing: bool, control: &Control) -> Result<(Vec<Mount>, Option<File>), ToolError> {
        let state = self.state.as_ref().filter(|state| (changing && state.create().is_ok()) || state.exists());
        let lock =
            state.filter(|state| changing || state.has_journal()).map(|state| state.lock(control)).transpose()?;
        Ok((self.mounts.iter().cloned().chain(state.map(StateDir::mount)).collect(), lock))
    }

    fn sandbox(&self, mounts: &[Mount], control: Control) -> Result<Sandbox, ToolError> {
        Sandbox::new(&Surroundings { mounts, environment: &self.environment, limits: &self.limits }, control)
    }

    fn control(&self, options: &CallOptions) -> Control {
        let own = Duration::from_millis(self.limits.max_time_ms);
        let time = options.time.map_or(own, |time| time.min(own));
        let now = Instant::now();
        // A time that no clock can hold is as good as a century.
        let deadline = now.checked_add(time).unwrap_or(now + Duration::from_secs(3_000_000_000));
        Control { deadline, cancel: options.cancel.clone(), progress: options.progress.clone() }
    }
}

fn run_kept<R>(
    kept: &mut Option<Sandbox>,
    control: Control,
    body: impl AsyncFnOnce(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
) -> Result<R, ToolError> {
    let mut sandbox = kept.take().ok_or_else(|| {
        ToolError::new(ErrorCode::BackendGone, "the workspace in memory went with a call that was ended")
            .hint("the person who runs this has to make a new one from its last snapshot")
    })?;
    let result = sandbox.run(control, body)?;
    *kept = Some(sandbox);
    Ok(result)
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The names of all dialects.
pub fn dialects() -> Result<Vec<String>, ToolError> {
    bare()
        .run(false, &CallOptions::default(), async |guest, store| guest.tools(&mut *store)?.call_dialects(store).await)
}

/// The tools of a dialect, always in the same order.
pub fn tools(dialect: &str) -> Result<Vec<Tool>, ToolError> {
    bare().run(false, &CallOptions::default(), async |guest, store| {
        guest.tools(&mut *store)?.call_describe(store, dialect).await
    })?
}

/// The component itself, for another host.
pub fn component() -> &'static [u8] {
    engine::COMPONENT
}

/// A guest without a directory is enough to tell what tools there are.
fn bare() -> Workspace {
    Workspace(Arc::new(Inner::bare()))
}

/// Whether a tool can change something, as it says itself. One that is not known changes nothing.
fn changes(dialect: &str, tool: &str) -> bool {
    static KNOWN: OnceLock<Mutex<HashMap<(String, String), bool>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    let name = (dialect.to_owned(), tool.to_owned());
    if let Some(changes) = known.lock().unwrap_or_else(PoisonError::into_inner).get(&name) {
        return *changes;
    }
    let told = bare().run(false, &CallOptions::default(), async |guest, store| {
        guest.tools(&mut *store)?.call_changes(store, dialect, tool).await
    });
    // Nothing is kept of a tool that there is not: any number of names could be asked for.
    let Ok(Some(changes)) = told else { return false };
    *known.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert(changes)
}
