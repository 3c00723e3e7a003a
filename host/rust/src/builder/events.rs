//! Builder functions for event listeners, the event file and the audit log.

use std::path::PathBuf;

use super::Builder;
use crate::events::{Event, Listener};
use crate::watch::AuditChoice;

/// Reporting of calls.
impl Builder {
    /// Adds a listener to the events of every call of this workspace, including typed functions: when the call starts,
    /// and when it has ended, for each file that it wrote and for its outcome. Several listeners are called in the
    /// order in which they were added.
    ///
    /// The listener runs on the thread of the call, which continues when the listener returns, so that long work
    /// belongs on another thread. It may make calls of its own. If it panics, the panic message goes to standard error;
    /// the call and other listeners are not affected. Without a listener and an audit log, no events are computed.
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listeners.push(Listener(std::sync::Arc::new(listener)));
        self
    }

    /// Appends every event to the file `path`, one JSON object per line; `-` stands for standard error. The file must
    /// be outside every root. If it is new, only its owner can access it.
    #[must_use]
    pub fn event_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.event_file = Some(path.into());
        self
    }

    /// Writes an audit log of every call to the file `path`; [`crate::audit`] describes its format. The file must be
    /// outside every root.
    ///
    /// A missing record is worse than a refused call: if the start of a call that can change something cannot be
    /// recorded, the call is refused before it runs, and if the end of a call cannot be recorded, the call returns no
    /// result.
    #[must_use]
    pub fn audit(mut self, path: impl Into<PathBuf>) -> Self {
        self.audit = Some(AuditChoice::At(path.into()));
        self
    }

    /// Writes the audit log to `audit.jsonl` in the state directory. Without a state directory, the workspace cannot be
    /// opened.
    #[must_use]
    pub fn audit_in_state(mut self) -> Self {
        self.audit = Some(AuditChoice::InState);
        self
    }
}
