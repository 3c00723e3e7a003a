//! Rows of a dialect's table. Decoding, JSON Schema and help are derived from them.
//!
//! Rows are data because the code that `serde` and `schemars` derive for a struct of each tool would enlarge the
//! component.

use paddock_types::error::Result;
use paddock_types::rendered::Rendered;
use paddock_types::request::Request;
use paddock_types::response::Response;

use crate::args::Args;
use crate::dialect::answer::CallContext;
use crate::param::Param;

/// A tool.
pub struct ToolSpec {
    /// Name of the tool.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Description for the model.
    pub description: &'static str,
    /// Arguments.
    pub params: &'static [Param],
    /// Effects of the tool on files.
    pub traits: ToolTraits,
    /// Converts the arguments into a request.
    pub request: fn(&Args) -> Result<Request>,
    /// Renders the response or the error. The dialect's `failure` renders an `Err`.
    pub answer: fn(&CallContext<'_>, Result<Response>) -> Result<Rendered>,
    /// Schema of the result.
    pub output: Output,
}

/// Schema of a tool's result.
pub enum Output {
    /// Schema of a type of `paddock_types::response`, as JSON text.
    Generated(&'static str),
    /// Schema described by a row of the dialect's table.
    ResultSchema(&'static ResultSchema),
}

/// Description of a JSON value in a result.
pub enum ResultSchema {
    /// A string.
    Text,
    /// An integer.
    Whole,
    /// A number.
    Number,
    /// A boolean.
    Flag,
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of the given schemas.
    Either(&'static [ResultSchema]),
    /// The given schema, or null.
    Nullable(&'static ResultSchema),
    /// The given schema; the member may be absent.
    Optional(&'static ResultSchema),
    /// A list with items of the given schema.
    List(&'static ResultSchema),
    /// An object with these members.
    Object(&'static [(&'static str, ResultSchema)]),
}

/// Effects of a tool on files, which become the annotations of the Model Context Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolTraits {
    /// The tool changes nothing.
    Reads,
    /// The tool changes no files, but stores a snapshot in the state directory.
    Notes,
    /// The tool creates entries and replaces none.
    Adds {
        /// Whether a repeated call has no further effect.
        idempotent: bool,
    },
    /// The tool can replace or remove existing entries.
    Replaces {
        /// Whether a repeated call has no further effect.
        idempotent: bool,
    },
    /// The tool makes the host run a command; the component itself does nothing.
    Runs {
        /// Whether the command can change files.
        changes: bool,
    },
}

impl ToolTraits {
    /// Returns whether the host executes the tool.
    pub fn runs(self) -> bool {
        matches!(self, Self::Runs { .. })
    }

    /// Returns whether the tool can change files or the state directory.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Reads | Self::Runs { changes: false })
    }
}
