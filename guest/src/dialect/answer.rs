//! What a dialect tells: answers and failures, in its own shape and words.

use serde_json::Value;

use crate::dialect::Names;
use crate::dialect::args::Args;
use crate::dialect::spec::ToolSpec;
use crate::error::{Code, Error, ErrorText};
use crate::workspace::Root;

/// The answer to a call, or its failure, as the dialect tells it.
#[derive(Clone, Debug)]
pub struct Told {
    /// JSON in the dialect's shape.
    pub json: String,
    /// Text for the model.
    pub text: String,
    /// Whether a limit cut it short.
    pub truncated: bool,
    /// Why the call failed, where the dialect tells that with what came of it.
    pub error: Option<Error>,
}

impl Told {
    /// An answer of which nothing is left out.
    pub fn new(value: &Value, text: impl Into<String>) -> Self {
        Self { json: value.to_string(), text: text.into(), truncated: false, error: None }
    }

    /// Says whether a limit cut it short.
    #[must_use]
    pub fn truncated(mut self, truncated: bool) -> Self {
        self.truncated = truncated;
        self
    }

    /// Says that the call failed all the same.
    #[must_use]
    pub fn failed(mut self, error: Error) -> Self {
        self.error = Some(error);
        self
    }
}

/// The context from which an answer is made, beside the response. It gives no access to the workspace: all that a call looks at or changes is
/// in its request, where the policy, approval, limits and the audit log see it.
pub struct Asked<'c> {
    /// The arguments of the call.
    pub args: &'c Args,
    /// The roots of the workspace; none where it could not be opened.
    pub roots: &'c [Root],
    /// The time of day, in RFC 3339.
    pub now: Option<String>,
    /// A random number.
    pub random: u64,
    /// The names that the caller has for arguments and tools.
    pub names: Names,
}

impl Asked<'_> {
    /// The failure of a tool that was answered by another operation than it asked for.
    pub fn mixed_up() -> Error {
        Error::new(Code::Io, "an operation gave another operation's answer")
    }
}

/// A call that failed.
pub struct Failed<'c> {
    /// The tool; none where there is none of that name.
    pub tool: Option<&'static ToolSpec>,
    /// Its arguments; none where they do not fit.
    pub args: Option<&'c Args>,
    /// Why, in the caller's names.
    pub error: &'c ErrorText,
}

impl Failed<'_> {
    /// The argument `name`, empty where there is none.
    pub fn text(&self, name: &str) -> String {
        self.args.map(|args| args.text(name)).unwrap_or_default()
    }
}

/// A failure in words: what failed, and what would work instead.
pub fn words(error: &ErrorText) -> String {
    match &error.hint {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

/// Takes the answer of one operation out of the variant that `$request` gives, or fails with what failed.
macro_rules! take {
    ($variant:ident, $response:expr) => {
        match $response? {
            $crate::response::Response::$variant(answer) => answer,
            _ => return Err($crate::dialect::answer::Asked::mixed_up()),
        }
    };
}
pub(super) use take;
