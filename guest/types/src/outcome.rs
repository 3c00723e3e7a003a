//! How a call ended, as a host is told.

use crate::accessed_paths::AccessedPaths;
use crate::error::ErrorText;
use crate::rendered::Rendered;
use crate::response::Change;

/// How a call ended: the `outcome` of `wit/tools.wit`.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result as JSON in the dialect's shape; where there is an error, the error in it.
    pub result: String,
    /// The result as text for the model.
    pub text: String,
    /// Why the call failed.
    pub error: Option<ErrorText>,
    /// What it changed, in order.
    pub changes: Vec<Change>,
    /// Whether a limit cut the result short.
    pub truncated: bool,
    /// What it touched, where the host keeps a record and the arguments fit.
    pub touched: Option<AccessedPaths>,
}

impl Outcome {
    /// What a dialect tells of a call.
    pub fn reported(reported: Rendered, error: Option<ErrorText>, changes: Vec<Change>) -> Self {
        Self {
            result: reported.json,
            text: reported.text,
            error,
            changes,
            truncated: reported.truncated,
            touched: None,
        }
    }
}
