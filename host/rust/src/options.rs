//! Options of one call, and its cancellation and progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::approval::{Approver, Grant};

/// The dialect that a call has where none is said.
pub(crate) const DIALECT: &str = "paddock";

/// Options of one call. The default is the `paddock` dialect with the limits of the workspace.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallOptions {
    /// Whose names and shapes the tool and its arguments have.
    pub dialect: String,
    /// Ends the call early.
    pub cancel: CancelToken,
    /// Tells how far the call is.
    pub progress: Progress,
    /// Time for the call, at most the workspace's own limit. The time in which somebody decides does not count.
    pub time: Option<Duration>,
    /// Leave to do what an earlier call would have done, where that ended in `approval-required`.
    pub grant: Option<Grant>,
    /// Who is asked about the call, in place of the workspace's own approver.
    pub approver: Option<Approver>,
    /// What the events of this call, and its record in an audit, call it. It should be unique, as the one is that it has without.
    pub id: Option<String>,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            dialect: DIALECT.to_owned(),
            cancel: CancelToken::default(),
            progress: Progress::default(),
            time: None,
            grant: None,
            approver: None,
            id: None,
        }
    }
}

impl CallOptions {
    /// The default in another dialect.
    pub fn dialect(name: impl Into<String>) -> Self {
        Self { dialect: name.into(), ..Self::default() }
    }

    /// Cancels the call with this token.
    #[must_use]
    pub fn with_cancel(self, cancel: CancelToken) -> Self {
        Self { cancel, ..self }
    }

    /// Counts the progress of the call here.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// Limits the time of the call.
    #[must_use]
    pub fn with_time(self, time: Duration) -> Self {
        Self { time: Some(time), ..self }
    }

    /// Gives the call leave to do what an earlier one would have done.
    #[must_use]
    pub fn with_grant(self, grant: Grant) -> Self {
        Self { grant: Some(grant), ..self }
    }

    /// Asks this approver about the call.
    #[must_use]
    pub fn with_approver(self, approver: Approver) -> Self {
        Self { approver: Some(approver), ..self }
    }

    /// Names the call in events and in an audit.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }
}

/// Ends calls: clones of a token are the same token.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    is_set: AtomicBool,
    parent: Option<CancelToken>,
}

impl CancelToken {
    /// Stops the guest of every call that was given this token, within some 10 ms.
    pub fn cancel(&self) {
        self.0.is_set.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_set.load(Ordering::Relaxed) || self.0.parent.as_ref().is_some_and(Self::is_cancelled)
    }

    /// A token that is cancelled where this one is, and can be by itself.
    pub(crate) fn child(&self) -> Self {
        Self(Arc::new(Flag { is_set: AtomicBool::new(false), parent: Some(self.clone()) }))
    }
}

/// Progress of calls. Clones share one counter.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Files and directories opened so far.
    pub fn opened(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn advance(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
