//! Rendering of responses and failures: the context that a dialect gets, and shared helpers.

use paddock_types::error::{Code, Error, ErrorText};
use paddock_workspace::Root;

use crate::Names;
use crate::args::Args;
use crate::spec::ToolSpec;

/// The context from which an answer is made, beside the response. It gives no access to the workspace: all that a call looks at or changes is
/// in its request, where the policy, approval, limits and the audit log see it.
pub struct CallContext<'c> {
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

impl CallContext<'_> {
    /// The failure of a tool that was answered by another operation than it asked for.
    pub fn mixed_up() -> Error {
        Error::new(Code::Io, "an operation gave another operation's answer")
    }
}

/// A call that failed.
pub struct FailedCall<'c> {
    /// The tool; none where there is none of that name.
    pub tool: Option<&'static ToolSpec>,
    /// Its arguments; none where they do not fit.
    pub args: Option<&'c Args>,
    /// Why, in the caller's names.
    pub error: &'c ErrorText,
}

impl FailedCall<'_> {
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
            paddock_types::response::Response::$variant(answer) => answer,
            _ => return Err($crate::answer::CallContext::mixed_up()),
        }
    };
}
pub(super) use take;
