//! What a dialect tells: answers and failures, in its own shape and words.

use serde_json::Value;

use crate::dialect::args::Args;
use crate::dialect::spec::ToolSpec;
use crate::error::{Code, Error};
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

/// What an answer is made of beside the response. It has no way to the workspace: all that a call looks at or changes is
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
}

impl Asked<'_> {
    /// The failure of a tool that was answered by another operation than it asked for.
    pub fn mixed_up() -> Error {
        Error::new(Code::Io, "an operation gave another operation's answer")
    }
}

/// What operations say of the `paddock` dialect's tools, as it can be said in any.
const COMMON: &[(&str, &str)] = &[
    ("`glob` and `list_dir` show what is there", "list the directory to see what is there"),
    ("`list_dir` shows a directory", "list the directory instead"),
    ("`stat` describes a file, and `read_file` reads it", "it is a file: read it"),
    ("`read_file` with `mode: \"base64\"` gives its bytes", "only text can be read here"),
    (
        "`read_file` with `offset` and `limit`, and `grep`, work on files of any size",
        "read a part of it, or search in it",
    ),
    ("ask for lines nearer to the start, or use `grep`", "ask for lines nearer to the start, or search in it"),
    ("; `write_file` replaces a whole file", ""),
    (", or set `replace_all`", ""),
    (", or `tail` for the last lines", ""),
    ("; `parents` makes it too", ": make it first"),
    ("`recursive` deletes a directory with all it holds", "delete what is in it first"),
    ("`recursive` takes a directory with all it holds", "name the files one by one"),
    ("`overwrite` replaces a file that is there", "choose another name, or delete it first"),
    ("leave `create_only` out to replace it, or choose another name", "choose another name, or edit what is there"),
    ("pass the directory as `path`, and a glob relative to it", "give the directory and a glob relative to it"),
];

/// A call that failed.
pub struct Failed<'c> {
    /// The tool; none where there is none of that name.
    pub tool: Option<&'static ToolSpec>,
    /// Its arguments; none where they do not fit.
    pub args: Option<&'c Args>,
    /// Why.
    pub error: &'c Error,
}

impl Failed<'_> {
    /// The failure with the operations' words for arguments and tools as the
    /// dialect has them; what its table does not name, in words that suit any.
    pub fn in_words(&self, table: &[(&str, &str)]) -> Error {
        let others = COMMON.iter().filter(|(ours, _)| !table.iter().any(|(own, _)| own == ours));
        let translate = |text: &str| {
            table.iter().chain(others.clone()).fold(text.to_owned(), |text, (ours, theirs)| text.replace(ours, theirs))
        };
        let Error { code, message, path, hint, plan } = self.error;
        // A path may be called like an argument, and keeps its name.
        let cause = message.rfind("`: ").filter(|_| path.is_some()).map_or(0, |end| end + 3);
        let (given, cause) = message.split_at_checked(cause).unwrap_or(("", message));
        Error {
            code: *code,
            message: format!("{given}{}", translate(cause)),
            path: path.clone(),
            hint: hint.as_deref().map(translate),
            plan: plan.clone(),
        }
    }

    /// The argument `name`, empty where there is none.
    pub fn text(&self, name: &str) -> String {
        self.args.map(|args| args.text(name)).unwrap_or_default()
    }
}

/// A failure in words: what failed, and what would work instead.
pub fn words(error: &Error) -> String {
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
