//! Workspaces: directories, rules and limits in which tools are called.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use wasmtime::Store;

use crate::approval::{ApprovalSigner, Approver, Grant};
use crate::bindings::exports::paddock::files::approval;
use crate::call::Call;
use crate::command::Commands;
use crate::guest::Guest;
use crate::guests::Guests;
use crate::options::{CallOptions, CancelToken, DIALECT};
use crate::outcome::Outcome;
use crate::overlay::OverlayDir;
use crate::policy::Limits;
use crate::store::State;
use crate::tool_traits::ToolTraits;
use crate::types::{ErrorCode, Plan, Tool, ToolError};
use crate::watch::{Answer, Listeners, Named, Watch};

mod commands;
mod index;

pub use index::IndexUpdate;

/// Maximum number of approval requests for one call.
const MAX_QUESTIONS: usize = 3;

/// Directories, rules and limits in which tools are called. Each call runs in a new guest.
///
/// Clones are the same workspace. Any number of threads can make calls at once; calls that change something wait
/// for each other.
#[derive(Clone)]
pub struct Workspace(Arc<Inner>);

#[derive(Default)]
pub(crate) struct Inner {
    /// Dialect of calls whose options name none; `None` for `paddock`.
    pub(crate) dialect: Option<String>,
    pub(crate) approver: Option<Approver>,
    pub(crate) signer: ApprovalSigner,
    /// Receivers of events, if there are any.
    pub(crate) listeners: Option<Listeners>,
    /// Declared before `commands`, so that it is dropped first: commands record nothing once the workspace is
    /// closed.
    pub(crate) guests: Arc<Guests>,
    /// The commands that tools may run, if the policy enables commands.
    pub(crate) commands: Option<Commands>,
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roots: Vec<_> = self.guests().roots.mounts.iter().map(|root| (&root.guest, root.host())).collect();
        let mut debug = f.debug_struct("Workspace");
        debug.field("roots", &roots).field("dialect", &self.0.dialect).finish_non_exhaustive()
    }
}

impl Workspace {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Calls a tool with its arguments, a JSON object. The dialect is that of
    /// [`Builder::dialect`](crate::Builder::dialect).
    ///
    /// This blocks the thread until the tool is done; in async code, use [`Workspace::call_async`].
    pub fn call(&self, tool: &str, arguments: &str) -> Outcome {
        self.call_with(tool, arguments, &CallOptions::default())
    }

    /// Calls a tool with [`CallOptions`]: its dialect, cancellation, progress and limits.
    pub fn call_with(&self, tool: &str, arguments: &str, options: &CallOptions) -> Outcome {
        let dialect = options.dialect.as_deref().or(self.0.dialect.as_deref()).unwrap_or(DIALECT);
        let ToolTraits { changes: changing, runs } = ToolTraits::of(dialect, tool);
        let name = Named { id: options.id.as_deref(), dialect, tool, changing, listener: options.listener.as_ref() };
        self.watched(&name, |watch| {
            let call = Call { changing, options: Some(options), watch };
            let named = (dialect, tool, arguments);
            let called = match self.0.commands.as_ref().filter(|_| runs) {
                Some(commands) => self.command(commands, &call, named),
                None => self.call_in(&call, named),
            };
            if let (Err(_), Some(watch)) = (&called, watch) {
                self.guests().record_requested_paths(watch, named);
            }
            called.unwrap_or_else(Outcome::failed)
        })
    }

    fn call_in(&self, call: &Call<'_>, (dialect, tool, arguments): (&str, &str, &str)) -> Result<Outcome, ToolError> {
        if call.changing {
            let answer = self.run_with_approval(
                call,
                async |guest, store| guest.tools(&mut *store)?.call_call(store, dialect, tool, arguments).await,
                |outcome| outcome.error.as_ref(),
            );
            return answer.map(|(outcome, plan)| Outcome { plan, ..Outcome::from(outcome) });
        }
        let answered = self.guests().run_shared(
            call,
            async |guest, store| guest.tools(&mut *store)?.call_begin(store, dialect, tool, arguments).await,
            async |guest, store| guest.tools(&mut *store)?.call_finish(store).await,
        );
        answered.map(Outcome::from)
    }

    /// Calls a tool on a thread that may be blocked. Must be called in a tokio runtime.
    ///
    /// If the future is dropped, the call is cancelled.
    pub async fn call_async(&self, tool: &str, arguments: &str, options: CallOptions) -> Outcome {
        let (workspace, tool, arguments) = (self.clone(), tool.to_owned(), arguments.to_owned());
        let _cancel_on_drop = CancelOnDrop(options.cancel.clone());
        let called = tokio::task::spawn_blocking(move || workspace.call_with(&tool, &arguments, &options)).await;
        called.unwrap_or_else(|cause| {
            Outcome::failed(ToolError::new(ErrorCode::Io, format!("the call was lost: {cause}")))
        })
    }

    /// Returns a grant, valid for the time `valid`, for one call to make the changes in `plan`. For a host whose
    /// approval decision takes longer than [`Builder::approver`](crate::Builder::approver) can wait. The paths of
    /// the plan must not have changed since.
    pub fn grant(&self, plan: &Plan, valid: Duration) -> Grant {
        self.0.signer.grant(plan, valid)
    }

    /// Runs a call that may need approval, and runs it again after an approval. Returns the answer, and the plan
    /// that still needs approval, if any.
    pub(crate) fn run_with_approval<R>(
        &self,
        call: &Call<'_>,
        body: impl AsyncFn(&Guest, &mut Store<State>) -> wasmtime::Result<R>,
        error: impl Fn(&R) -> Option<&ToolError>,
    ) -> Result<(R, Option<Plan>), ToolError> {
        let attempt = |decision: Option<approval::Decision>| {
            self.guests().run(call, async |guest, store| {
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
        let mut answer = attempt(grant.map(|grant| self.0.signer.take(grant)))?;
        // The files may have changed before the decision; then the approver gets the new plan.
        for _ in 0..MAX_QUESTIONS {
            let (Some(plan), Some(approver)) = (&answer.1, approver) else { break };
            let Some(decision) = self.0.signer.decided(plan, approver.decide(plan)) else { break };
            answer = attempt(Some(decision))?;
        }
        Ok(answer)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.guests().limits
    }

    /// Returns the overlay of the workspace, if it has one.
    pub(crate) fn overlay_dir(&self) -> Option<&OverlayDir> {
        self.guests().roots.overlay.as_ref()
    }

    /// Returns whether the overlay of the workspace has a directory, which its first change creates. It stays when the
    /// changes are discarded. One that cannot be opened counts as one that exists.
    pub fn has_overlay_directory(&self) -> bool {
        self.overlay_dir().is_some_and(|overlay| overlay.get().map_or(true, |directory| directory.is_some()))
    }

    /// Returns whether the overlay of the workspace has changes or checkpoints.
    pub fn has_overlay_content(&self) -> bool {
        self.overlay_dir().is_some_and(OverlayDir::has_content)
    }

    /// Returns the names of the overlays over this workspace that have changes or checkpoints, in order.
    ///
    /// # Errors
    ///
    /// The error of the file system if the directory of the overlays cannot be read.
    pub fn overlays(&self) -> std::io::Result<Vec<String>> {
        let roots = &self.guests().roots;
        let state = roots.overlay.as_ref().map(OverlayDir::base_state).or(roots.state.as_ref());
        state.map_or(Ok(Vec::new()), OverlayDir::all)
    }

    pub(crate) fn guests(&self) -> &Arc<Guests> {
        &self.0.guests
    }

    /// Returns the tools of a dialect in this workspace, always in the same order. Tools that run commands are
    /// included only if the policy enables commands.
    ///
    /// # Errors
    ///
    /// `unknown-dialect` if no dialect has this name.
    pub fn tools(&self, dialect: &str) -> Result<Vec<Tool>, ToolError> {
        self.guests().run(&Call::unwatched(false), async |guest, store| {
            guest.tools(&mut *store)?.call_describe(store, dialect).await
        })?
    }

    /// Makes a call, and reports it to the receivers of events.
    pub(crate) fn watched<A: Answer>(&self, name: &Named<'_>, call: impl FnOnce(Option<&Watch<'_>>) -> A) -> A {
        let to = self.0.listeners.as_ref().or(name.listener.map(|_| Listeners::NONE));
        let Some(to) = to else { return call(None) };
        let watch = Watch::begin(to, name);
        match watch.start(name.changing) {
            Ok(()) => watch.end(call(Some(&watch)), to.audit.as_ref()),
            Err(error) => watch.end(A::failed(error), None),
        }
    }
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
