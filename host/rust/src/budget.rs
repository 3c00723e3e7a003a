//! The time limit of a call, and its cancellation.

use std::time::{Duration, Instant};

use wasmtime::UpdateDeadline;

use crate::options::{CancelToken, Progress};
use crate::types::{ErrorCode, ToolError};

/// Deadline and cancellation of a call.
#[derive(Clone)]
pub(crate) struct CallBudget {
    pub(crate) deadline: Instant,
    pub(crate) cancel: CancelToken,
    pub(crate) progress: Progress,
}

/// Interruption of a guest by the host.
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
    /// Creates a budget with a time limit and without cancellation.
    pub(crate) fn within(patience: Duration) -> Self {
        let deadline = Instant::now() + patience;
        Self { deadline, cancel: CancelToken::default(), progress: Progress::default() }
    }

    /// Returns whether the call must end now.
    pub(crate) fn interruption(&self) -> Option<Interruption> {
        if self.cancel.is_cancelled() {
            return Some(Interruption::Cancelled);
        }
        (Instant::now() >= self.deadline).then_some(Interruption::Deadline)
    }

    /// Returns the decision in the form that the engine requires.
    pub(crate) fn check(&self) -> wasmtime::Result<UpdateDeadline> {
        self.interruption().map_or(Ok(UpdateDeadline::Continue(1)), |interruption| Err(interruption.into()))
    }
}
