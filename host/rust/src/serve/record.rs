//! The record of each request and of its calls: metrics, a trace, a line of the log, and the recent calls of the status
//! page.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use axum::http::{HeaderMap, Method, StatusCode};

use super::narrowing::InnerPath;
use super::recent::Recent;
use super::telemetry::{Answered, Reason, Telemetry, Trace};
use crate::events::Listener;
use crate::{Ended, Event};

/// Receivers of all records.
pub(super) struct Recorder {
    pub(super) telemetry: Arc<Telemetry>,
    /// Recent calls, if the status page shows them to somebody.
    pub(super) recent: Option<Recent>,
}

/// The record of one request.
pub(super) struct Record {
    recorder: Arc<Recorder>,
    started: Instant,
    method: Method,
    /// Path without the query.
    path: String,
    /// Route of the router, if there is one.
    route: Option<String>,
    trace: Trace,
    caller: OnceLock<Caller>,
    /// Outcome of the last call.
    outcome: Mutex<Option<&'static str>>,
}

struct Caller {
    holder: String,
    workspace: Option<String>,
    part: Option<InnerPath>,
}

impl Record {
    pub(super) fn new(
        recorder: Arc<Recorder>,
        method: Method,
        path: &str,
        route: Option<&str>,
        headers: &HeaderMap,
    ) -> Self {
        let trace = recorder.telemetry.begin(&method, headers);
        Self {
            recorder,
            started: Instant::now(),
            method,
            path: path.to_owned(),
            route: route.map(str::to_owned),
            trace,
            caller: OnceLock::new(),
            outcome: Mutex::default(),
        }
    }

    /// Sets the caller, and the workspace to which the request belongs.
    pub(super) fn set_caller(&self, holder: &str, workspace: Option<&str>, part: Option<&InnerPath>) {
        let (holder, workspace) = (holder.to_owned(), workspace.map(str::to_owned));
        // A request has one caller.
        let _ = self.caller.set(Caller { holder, workspace, part: part.cloned() });
    }

    /// Returns the listener for the calls of the request.
    pub(super) fn listener(self: &Arc<Self>) -> Listener {
        let record = self.clone();
        Listener(Arc::new(move |event| {
            if let Event::End(ended) = event {
                record.call(ended);
            }
        }))
    }

    fn call(&self, ended: &Ended) {
        let Some(Caller { holder, workspace: Some(workspace), part }) = self.caller.get() else { return };
        let outcome = self.recorder.telemetry.call(&self.trace, workspace, ended);
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.recorder.recent.iter().for_each(|recent| recent.add(workspace, holder, part.as_ref(), ended));
    }

    /// Records the answer, which is about to be sent.
    pub(super) fn answered(&self, status: StatusCode, reason: Option<Reason>) {
        let caller = self.caller.get();
        let answered = Answered {
            method: &self.method,
            path: &self.path,
            route: self.route.as_deref(),
            workspace: caller.and_then(|caller| caller.workspace.as_deref()),
            holder: caller.map(|caller| caller.holder.as_str()),
            status,
            duration: self.started.elapsed(),
        };
        let outcome = *self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        self.recorder.telemetry.answered(&self.trace, &answered, outcome, reason);
    }
}
