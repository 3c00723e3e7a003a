//! The interface to the tools that are served.

use crate::formats::{Describe, Listed};

/// Name of the dialect that calls have unless they name another.
pub const DIALECT: &str = "paddock";

/// Tools that a server lists and calls.
pub trait Tools {
    /// Returns the tools of a dialect, always in the same order.
    ///
    /// # Errors
    ///
    /// If the dialect does not exist, or the policy cannot be read.
    fn describe(&self, dialect: &str) -> Result<Vec<Tool>, Failure>;

    /// Calls a tool with its arguments, a JSON object. Every failure is in the outcome.
    fn call(&self, dialect: &str, name: &str, arguments: &str) -> Outcome;
}

/// One tool of a dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tool {
    /// The name that [`Tools::call`] takes.
    pub name: String,
    /// Title for display to people.
    pub title: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: String,
    /// JSON Schema of the result.
    pub output_schema: String,
    /// Whether the tool changes nothing.
    pub read_only: bool,
    /// Whether the tool can replace or remove existing content.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: bool,
}

impl Describe for Tool {
    fn listed(&self) -> Listed<'_> {
        let Self { name, title, description, input_schema, output_schema, read_only, destructive, idempotent } = self;
        Listed {
            name,
            title,
            description,
            input_schema,
            output_schema,
            read_only: *read_only,
            destructive: *destructive,
            idempotent: *idempotent,
        }
    }
}

/// Outcome of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The failure, if the call failed.
    pub error: Option<Failure>,
    /// The result as JSON, in the shape of the dialect; for a failed call, the error in this shape.
    pub result: String,
    /// The result as text for the model.
    pub text: String,
    /// Changes that the call made, in order.
    pub changes: Vec<Change>,
}

/// Failure of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// Code of the failure, such as `not-found`.
    pub code: String,
    /// The operation that failed, the path in backticks, and the cause.
    pub message: String,
    /// The path as the caller passed it, if the failure concerns a path.
    pub path: Option<String>,
    /// A call or an argument that would work instead.
    pub hint: Option<String>,
}

/// A change of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// `created`, `modified`, `deleted` or `moved`.
    pub kind: String,
    /// The path, relative to the workspace.
    pub path: String,
    /// The new path of an entry that was moved.
    pub to: Option<String>,
    /// Size after the change in bytes, if a file is at the path then.
    pub size: Option<u64>,
}

impl Failure {
    /// Creates a failure that concerns no path.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), path: None, hint: None }
    }

    /// Adds what would work instead.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
