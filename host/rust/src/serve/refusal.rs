//! Refusals of the server.

use std::io;

use crate::error::Error;
use crate::types::{ErrorCode, ToolError};

/// The reason why a workspace is not served to a caller.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// No workspace has this name, or the directory of a template does not exist.
    #[error("there is no such workspace")]
    Unknown,
    /// The token restricts the workspace in a way that the workspace does not support.
    #[error("{0}")]
    Narrowing(String),
    /// Too many workspaces are open.
    #[error("too many workspaces are in use; try again later")]
    Full,
    /// A change takes too long, or was cut off and can neither be completed nor undone.
    #[error("an earlier change of the workspace runs, or was cut off and cannot be completed: {}", .0.message)]
    Unfinished(ToolError),
    /// The workspace cannot be opened.
    #[error("the workspace cannot be opened")]
    Failed(#[source] Error),
}

impl Refusal {
    /// Returns the refusal because of a state directory that cannot be used.
    pub(super) fn state(cause: io::Error) -> Self {
        Self::Failed(Error::State(cause))
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unfinished(cause) => cause,
            refusal => Self::new(ErrorCode::Io, refusal.to_string()),
        }
    }
}
