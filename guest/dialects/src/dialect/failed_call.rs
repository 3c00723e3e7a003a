//! A failed call, as a dialect renders it.

use paddock_types::error::{ErrorText, excerpt};

use crate::args::Args;
use crate::dialect::spec::ToolSpec;

/// A failed call.
pub struct FailedCall<'c> {
    /// The tool, or `None` if no tool has the requested name.
    pub tool: Option<&'static ToolSpec>,
    /// The arguments, or `None` if they are invalid.
    pub args: Option<&'c Args>,
    /// The error, in the caller's names.
    pub error: &'c ErrorText,
}

impl FailedCall<'_> {
    /// Returns the start of the argument `name`, or an empty string if it is absent.
    pub fn text(&self, name: &str) -> String {
        self.args.map(|args| excerpt(&args.text(name)).into_owned()).unwrap_or_default()
    }
}
