//! The part of the builder that says who is told of calls.

use std::path::PathBuf;

use super::Builder;
use crate::events::{Event, Listener};
use crate::watch::AuditChoice;

/// Telling of calls.
impl Builder {
    /// Tells `listener` of every call of this workspace, of typed functions too: when it starts, and when it has
    /// ended of each file that it wrote and how it ended. Several can be given, and are told one after the other.
    ///
    /// It is told on the thread of the call, which goes on when it returns: what takes long is handed on. It may
    /// make calls of its own. A panic in it ends there, and says what a panic says on standard error; the call and
    /// other listeners do not notice. Without a listener and an audit, nothing of all this is computed.
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listeners.push(Listener(std::sync::Arc::new(listener)));
        self
    }

    /// Appends every event to the file `path`, a JSON object a line; `-` stands for standard error. The file has to lie
    /// outside every root, and is for its owner alone where it is new.
    #[must_use]
    pub fn event_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.event_file = Some(path.into());
        self
    }

    /// Keeps an audit of every call in the file `path`, which [`crate::audit`] describes. It has to lie outside every root.
    ///
    /// A missing record is worse than a refused call: where the record of its start cannot be written, a call that
    /// would change something is refused before it runs, and where the record of its end cannot be, no call has a
    /// result.
    #[must_use]
    pub fn audit(mut self, path: impl Into<PathBuf>) -> Self {
        self.audit = Some(AuditChoice::At(path.into()));
        self
    }

    /// Keeps the audit in `audit.jsonl` of the state directory. Where there is none, the workspace cannot be opened.
    #[must_use]
    pub fn audit_in_state(mut self) -> Self {
        self.audit = Some(AuditChoice::InState);
        self
    }
}
