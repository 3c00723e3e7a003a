//! The time that a call has, and what ends it early.

use std::time::{Duration, Instant};

use wasmtime::UpdateDeadline;

use crate::options::{CancelToken, Progress};
use crate::types::{ErrorCode, ToolError};

/// When a call has to end.
#[derive(Clone)]
pub(crate) struct CallBudget {
    pub(crate) deadline: Instant,
    pub(crate) cancel: CancelToken,
    pub(crate) progress: Progress,
}

/// The host ended the call.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum Interruption {
    #[error("the call was cancelled")]
    Cancelled,
    #[error("the call took too long")]
    Deadline,
}

impl Interruption {
    pub(crate) fn explain(self) -> ToolError {
        match self {
            Self::Cancelled => ToolError::new(ErrorCode::Cancelled, "the call was cancelled"),
            Self::Deadline => ToolError::new(ErrorCode::LimitExceeded, "the call used up its time and was ended")
                .hint("ask for less at once: a narrower path or glob, a smaller limit"),
        }
    }
}

impl CallBudget {
    /// Ends what nobody can cancel after that long.
    pub(crate) fn within(patience: Duration) -> Self {
        let deadline = Instant::now() + patience;
        Self { deadline, cancel: CancelToken::default(), progress: Progress::default() }
    }

    /// Whether the call has to end now.
    pub(crate) fn stop(&self) -> Option<Interruption> {
        if self.cancel.is_cancelled() {
            return Some(Interruption::Cancelled);
        }
        (Instant::now() >= self.deadline).then_some(Interruption::Deadline)
    }

    /// The same, as an engine asks for it.
    pub(crate) fn check(&self) -> wasmtime::Result<UpdateDeadline> {
        self.stop().map_or(Ok(UpdateDeadline::Continue(1)), |stop| Err(stop.into()))
    }
}
