//! Options of a call, its cancellation and its progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::approval::{Approver, Grant};
use crate::events::Listener;

/// Dialect of a call if neither its options nor the builder of the workspace name one.
pub(crate) const DIALECT: &str = "paddock";

/// Options of one call. The default is the dialect and the limits of the workspace.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// Name of the dialect, which defines the names and schemas of the tools. Without one, the call is in the dialect
    /// of [`Builder::dialect`](crate::Builder::dialect).
    pub dialect: Option<String>,
    /// Ends the call early.
    pub cancel: CancelToken,
    /// Counts the files and directories that the call has opened.
    pub progress: Progress,
    /// Time limit of the call, at most the workspace's own limit. The time for an approval decision does not count.
    pub time: Option<Duration>,
    /// Approval of the changes that an earlier call planned; that call ended in `approval-required`.
    pub grant: Option<Grant>,
    /// Approver for this call, in place of the workspace's own approver.
    pub approver: Option<Approver>,
    /// Identifier of the call in events and in the audit log. It should be unique. Without one, the call gets a
    /// unique identifier.
    pub id: Option<String>,
    /// Listener for the events of this call, in addition to those of the workspace.
    pub(crate) listener: Option<Listener>,
}

impl CallOptions {
    /// Returns the default options with another dialect.
    pub fn dialect(name: impl Into<String>) -> Self {
        Self { dialect: Some(name.into()), ..Self::default() }
    }

    /// Cancels the call with this token.
    #[must_use]
    pub fn with_cancel(self, cancel: CancelToken) -> Self {
        Self { cancel, ..self }
    }

    /// Counts the progress of the call in this counter.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// Limits the time of the call, at most to the workspace's own limit.
    #[must_use]
    pub fn with_time(self, time: Duration) -> Self {
        Self { time: Some(time), ..self }
    }

    /// Permits the changes that an earlier call planned.
    #[must_use]
    pub fn with_grant(self, grant: Grant) -> Self {
        Self { grant: Some(grant), ..self }
    }

    /// Lets this approver decide about the call.
    #[must_use]
    pub fn with_approver(self, approver: Approver) -> Self {
        Self { approver: Some(approver), ..self }
    }

    /// Sets the identifier of the call in events and in the audit log.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }
}

/// Cancels calls. Clones share one state.
///
/// Guests and commands poll it. A `CancellationToken` of `tokio-util` is awaited; a task that awaits it can call
/// [`CancelToken::cancel`].
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    is_set: AtomicBool,
    parent: Option<CancelToken>,
}

impl CancelToken {
    /// Stops the guest of every call that has this token, within about 10 ms.
    pub fn cancel(&self) {
        self.0.is_set.store(true, Ordering::Relaxed);
    }

    /// Returns whether this token or its parent was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_set.load(Ordering::Relaxed) || self.0.parent.as_ref().is_some_and(Self::is_cancelled)
    }

    /// Returns a new token that this one also cancels, and that can be cancelled alone.
    pub(crate) fn child(&self) -> Self {
        Self(Arc::new(Flag { is_set: AtomicBool::new(false), parent: Some(self.clone()) }))
    }
}

/// Progress of calls. Clones share one counter.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Returns the number of files and directories opened so far.
    pub fn opened(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn advance(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
