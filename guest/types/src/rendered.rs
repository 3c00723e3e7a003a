//! The output of a call in the dialect's own format.

use serde_json::Value;

use crate::error::Error;

/// The result of a call, or its failure, in the format of the dialect.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// JSON in the dialect's shape.
    pub json: String,
    /// Text for the model.
    pub text: String,
    /// Whether a limit cut it short.
    pub truncated: bool,
    /// The reason for the failure, if the dialect returns it together with a result.
    pub error: Option<Error>,
}

impl Rendered {
    /// Creates a complete result.
    pub fn new(value: &Value, text: impl Into<String>) -> Self {
        Self { json: value.to_string(), text: text.into(), truncated: false, error: None }
    }

    /// Sets whether a limit cut the result short.
    #[must_use]
    pub fn truncated(mut self, truncated: bool) -> Self {
        self.truncated = truncated;
        self
    }

    /// Marks the call as failed.
    #[must_use]
    pub fn failed(mut self, error: Error) -> Self {
        self.error = Some(error);
        self
    }
}
