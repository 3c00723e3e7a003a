//! Result of a call, as the host receives it.

use crate::accessed_paths::AccessedPaths;
use crate::error::ErrorText;
use crate::rendered::Rendered;
use crate::response::Change;

/// Result of a call: `outcome` of `wit/tools.wit`.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Result or error as JSON in the dialect's shape.
    pub result: String,
    /// The result as text for the model.
    pub text: String,
    /// The reason for a failure.
    pub error: Option<ErrorText>,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// Whether a limit cut the result short.
    pub truncated: bool,
    /// Accessed paths, if the host keeps an audit log and the arguments were valid.
    pub accessed_paths: Option<AccessedPaths>,
}

impl Outcome {
    /// Returns the outcome of a call that the dialect has rendered.
    pub fn reported(reported: Rendered, error: Option<ErrorText>, changes: Vec<Change>) -> Self {
        Self {
            result: reported.json,
            text: reported.text,
            error,
            changes,
            truncated: reported.truncated,
            accessed_paths: None,
        }
    }
}
