//! Observation of calls: events, audit records, and the paths that the guest reports as accessed.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::audit::Audit;
use crate::bindings::exports::paddock::files::commands::Ran;
use crate::budget::CallBudget;
use crate::error::Error;
use crate::event_file;
use crate::events::{Ended, Event, FileWritten, Listener, Output, Started, now};
use crate::mount::Mount;
use crate::outcome::Outcome;
use crate::sandbox::Sandbox;
use crate::state::StateDir;
use crate::types::{AccessedPaths, ErrorCode, ToolError};

/// Maximum number of characters of a name that a caller chose.
const NAME_CHARS: usize = 64;

/// Maximum time for a guest to report the accessed paths.
const PATIENCE: Duration = Duration::from_millis(500);

/// Location of the audit log, as set in the builder.
#[derive(Clone, Debug)]
pub(crate) enum AuditChoice {
    At(PathBuf),
    InState,
}

/// Receivers of a workspace's events.
pub(crate) struct Listeners {
    pub(crate) listeners: Vec<Listener>,
    pub(crate) audit: Option<Audit>,
    /// Files that Paddock writes events and records to, which no tool may open.
    pub(crate) own_files: Vec<PathBuf>,
}

impl Listeners {
    /// The receivers of a workspace that has none.
    pub(crate) const NONE: &Self = &Self { listeners: Vec::new(), audit: None, own_files: Vec::new() };
}

/// Identification of a call in events.
pub(crate) struct Named<'n> {
    /// Identifier that the caller chose, if any.
    pub(crate) id: Option<&'n str>,
    pub(crate) dialect: &'n str,
    pub(crate) tool: &'n str,
    pub(crate) changing: bool,
    /// Listener that the caller added for this call.
    pub(crate) listener: Option<&'n Listener>,
}

/// An observed call that is under way.
pub(crate) struct Watch<'w> {
    to: &'w Listeners,
    listener: Option<&'w Listener>,
    started: Instant,
    call: String,
    dialect: String,
    tool: String,
    accessed: Cell<Option<AccessedPaths>>,
}

/// Result of an observed call.
pub(crate) trait Answer {
    /// Returns the result of a call that failed outside the guest.
    fn failed(error: ToolError) -> Self;

    /// Returns the error code, if any, and whether a limit cut the result short.
    fn status(&self) -> (Option<ErrorCode>, bool);

    /// Replaces the result by an error: without an audit record, the caller gets no result.
    fn withheld(self, error: ToolError) -> Self;
}

impl<'w> Watch<'w> {
    pub(crate) fn begin(to: &'w Listeners, name: &Named<'w>) -> Self {
        let shortened = |name: &str| name.chars().take(NAME_CHARS).collect();
        Self {
            to,
            listener: name.listener,
            started: Instant::now(),
            call: name.id.map_or_else(unique, str::to_owned),
            dialect: shortened(name.dialect),
            tool: shortened(name.tool),
            accessed: Cell::new(None),
        }
    }

    /// Fails if the call must not be made because the audit log cannot record it.
    pub(crate) fn start(&self, changing: bool) -> Result<(), ToolError> {
        let event = Event::Start(Started {
            call: self.call.clone(),
            time: now(),
            dialect: self.dialect.clone(),
            tool: self.tool.clone(),
        });
        self.tell(&event);
        let Some(audit) = self.to.audit.as_ref().filter(|_| changing) else { return Ok(()) };
        audit.append(&event).map_err(|cause| {
            let message = format!("the call was not made, because its record cannot be written to the audit: {cause}");
            ToolError::new(ErrorCode::Io, message)
                .hint("nothing was changed; the person who runs this has to check the audit file")
        })
    }

    pub(crate) fn query_accessed_paths(&self, guest: &mut Sandbox) -> bool {
        let accessed_paths = guest.run(CallBudget::within(PATIENCE), async |guest, store| {
            guest.tools(&mut *store)?.call_get_accessed_paths(store).await
        });
        let is_well = accessed_paths.is_ok();
        self.accessed.set(accessed_paths.ok().flatten());
        is_well
    }

    /// Asks another guest for the requested paths, because the guest that made the call is gone.
    pub(crate) fn query_requested_paths(&self, guest: &mut Sandbox, call: (&str, &str, &str)) {
        let (dialect, tool, arguments) = call;
        let accessed_paths = guest.run(CallBudget::within(PATIENCE), async |guest, store| {
            guest.tools(&mut *store)?.call_get_requested_paths(store, dialect, tool, arguments).await
        });
        self.accessed.set(accessed_paths.ok().flatten());
    }

    /// Reports the amount of output of a command.
    pub(crate) fn output(&self, ran: &Ran) {
        self.tell(&Event::Output(Output {
            call: self.call.clone(),
            time: now(),
            session: ran.session,
            stdout_bytes: ran.stdout.bytes,
            stderr_bytes: ran.stderr.bytes,
            truncated: ran.stdout.truncated || ran.stderr.truncated,
        }));
    }

    pub(crate) fn end<A: Answer>(&self, answer: A, audit: Option<&Audit>) -> A {
        let (error, truncated) = answer.status();
        let mut accessed = self.accessed.take();
        let written = accessed.as_mut().map(|accessed| std::mem::take(&mut accessed.written)).unwrap_or_default();
        let mut event = self.ended(accessed, error, truncated);
        let recorded = audit.map_or(Ok(()), |audit| audit.append(&Event::End(event.clone())));
        let answer = match recorded {
            Ok(()) => answer,
            Err(cause) => {
                event.error = Some(ErrorCode::Io);
                answer.withheld(unrecorded(&event, &cause))
            }
        };
        for file in written {
            let (call, time) = (self.call.clone(), event.time.clone());
            let written = FileWritten { call, time, path: file.path, bytes: file.bytes, mode: file.mode };
            self.tell(&Event::FileWritten(written));
        }
        self.tell(&Event::End(event));
        answer
    }

    fn tell(&self, event: &Event) {
        for Listener(listener) in self.to.listeners.iter().chain(self.listener) {
            // If a listener panics, only its own state can be inconsistent, so the call continues.
            let _ = catch_unwind(AssertUnwindSafe(|| listener(event)));
        }
    }

    fn ended(&self, accessed: Option<AccessedPaths>, error: Option<ErrorCode>, truncated: bool) -> Ended {
        let mut event = Ended {
            call: self.call.clone(),
            time: now(),
            dialect: self.dialect.clone(),
            tool: self.tool.clone(),
            operation: None,
            paths: Vec::new(),
            redacted: 0,
            bytes: 0,
            lines: None,
            truncated,
            duration_ms: (self.started.elapsed().as_secs_f64() * 1e6).round() / 1e3,
            error,
            changes: Vec::new(),
        };
        if let Some(accessed) = accessed {
            event.operation = Some(accessed.operation);
            event.paths = accessed.paths;
            event.redacted = accessed.redacted;
            event.bytes = accessed.bytes;
            event.lines = accessed.lines;
            event.truncated |= accessed.truncated;
            event.changes = accessed.changes;
        }
        event
    }
}

impl Listeners {
    /// Opens the receivers. Returns `None` if there are none.
    pub(crate) fn of(
        mut listeners: Vec<Listener>,
        (event_file, audit): (Option<&Path>, Option<AuditChoice>),
        state: Option<&StateDir>,
        roots: &[Mount],
    ) -> Result<Option<Self>, Error> {
        let mut own_files = Vec::new();
        if let Some(path) = event_file {
            let (listener, file) = event_file::open(path, roots)?;
            listeners.push(listener);
            own_files.extend(file);
        }
        let audit = match (audit, state) {
            (None, _) => None,
            (Some(AuditChoice::At(path)), _) => Some(Audit::at(&path, roots)?),
            (Some(AuditChoice::InState), Some(state)) => Some(Audit::in_state(state, roots)?),
            (Some(AuditChoice::InState), None) => {
                let cause = std::io::Error::other("the workspace has no state directory");
                return Err(Error::Audit { path: PathBuf::from("audit.jsonl"), cause });
            }
        };
        own_files.extend(audit.iter().flat_map(Audit::paths));
        Ok((audit.is_some() || !listeners.is_empty()).then_some(Self { listeners, audit, own_files }))
    }
}

impl Answer for Outcome {
    fn failed(error: ToolError) -> Self {
        Self::failed(error)
    }

    fn status(&self) -> (Option<ErrorCode>, bool) {
        let code = |error: &ToolError| error.code;
        (self.error.as_ref().map(code), self.truncated)
    }

    fn withheld(self, error: ToolError) -> Self {
        Self { changes: self.changes, ..Self::failed(error) }
    }
}

impl<T> Answer for Result<T, ToolError> {
    fn failed(error: ToolError) -> Self {
        Err(error)
    }

    fn status(&self) -> (Option<ErrorCode>, bool) {
        (self.as_ref().err().map(|error| error.code), false)
    }

    fn withheld(self, error: ToolError) -> Self {
        Err(error)
    }
}

fn unrecorded(event: &Ended, cause: &std::io::Error) -> ToolError {
    let changes_text = match event.changes.len() {
        0 => "nothing was changed".to_owned(),
        1 => "the change was made".to_owned(),
        count => format!("the {count} changes were made"),
    };
    let message =
        format!("the result is withheld, because its record cannot be written to the audit: {cause}; {changes_text}");
    ToolError::new(ErrorCode::Io, message).hint("the person who runs this has to check the audit file")
}

/// Returns an identifier that no other call has, in this process or another.
fn unique() -> String {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let process = PROCESS.get_or_init(|| RandomState::new().build_hasher().finish());
    format!("{process:016x}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
