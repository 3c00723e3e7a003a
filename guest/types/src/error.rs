//! The one error type of the guest. The code, the path and the subject of a failure are data. The message, which says
//! operation, path and cause, and the hint, which says what would work instead, are texts with a [`Term`] for each
//! argument and tool, so that each caller gets them in its own names. `Fault::at` of the `vfs` crate converts failures
//! of a file system.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::approval_plan::Plan;
use crate::phrase;

mod detail;
mod phrase;

pub use crate::error::detail::{Detail, EnvelopeFault};
pub use crate::error::phrase::{Hint, NameCase, Phrase, Term, TypedNames, Vocabulary, When};

/// Result of everything that a caller can see fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Class of a failure: `error-code` of `wit/types.wit`, which documents each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each case is documented in wit/types.wit")]
pub enum Code {
    NotFound,
    AlreadyExists,
    NotAFile,
    NotADirectory,
    DirectoryNotEmpty,
    OutsideWorkspace,
    InvalidPath,
    InvalidArgument,
    UnknownTool,
    UnknownDialect,
    BinaryFile,
    EncodingLoss,
    NoMatch,
    AmbiguousMatch,
    PatchInvalid,
    PatchRejected,
    ChangedSinceRead,
    ReadOnly,
    Denied,
    ApprovalRequired,
    TooLarge,
    LimitExceeded,
    NoSpace,
    PermissionDenied,
    Cancelled,
    BackendGone,
    Io,
}

/// A failure, with the data that a dialect needs to render it in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Class of the failure.
    pub code: Code,
    /// Operation, path in backticks, and cause, without a full stop.
    pub message: Phrase,
    /// The requested path, if the failure is about one.
    pub path: Option<String>,
    /// Remarks on what would work instead.
    pub hint: Hint,
    /// Subject of the failure, for dialects with their own texts.
    pub detail: Option<Box<Detail>>,
    /// Plan that a person has to approve, if the code is [`Code::ApprovalRequired`].
    pub plan: Option<Box<Plan>>,
}

/// A failure in the names of one caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Error"))]
pub struct ErrorText {
    /// Class of the failure.
    pub code: Code,
    /// Operation, path in backticks, and cause, without a full stop.
    pub message: String,
    /// The requested path, if the failure is about one.
    pub path: Option<String>,
    /// Remarks on what would work instead.
    pub hint: Option<String>,
    /// Subject of the failure, for dialects with their own texts.
    #[serde(skip)]
    pub detail: Option<Box<Detail>>,
    /// Plan that a person has to approve, if the code is [`Code::ApprovalRequired`].
    #[serde(skip)]
    pub plan: Option<Box<Plan>>,
}

impl Error {
    /// Creates an error without a path.
    pub fn new(code: Code, message: impl Into<Phrase>) -> Self {
        Self::of(code, message.into())
    }

    // The non-generic part is compiled once: errors are created in hundreds of places.
    #[cold]
    #[inline(never)]
    fn of(code: Code, message: Phrase) -> Self {
        Self { code, message, path: None, hint: Hint::default(), detail: None, plan: None }
    }

    /// Returns an error of an operation on a path: ``cannot {operation} `{path}`: {cause}``.
    pub fn at(code: Code, operation: &str, path: &str, cause: impl Into<Phrase>) -> Self {
        Self::of_path(code, operation, path, cause.into())
    }

    #[cold]
    #[inline(never)]
    fn of_path(code: Code, operation: &str, path: &str, cause: Phrase) -> Self {
        let message = phrase![format!("cannot {operation} `{}`: ", printable(&excerpt(path))), cause];
        Self { path: Some(cut(path, MAX_PATH).into_owned()), ..Self::of(code, message) }
    }

    /// Returns an error about an invalid argument: ``argument `{name}`: {cause}``.
    pub fn argument(name: impl Into<Argument>, cause: impl Into<Phrase>) -> Self {
        Self::of_argument(name.into(), cause.into())
    }

    #[cold]
    #[inline(never)]
    fn of_argument(name: Argument, cause: Phrase) -> Self {
        Self::of(Code::InvalidArgument, phrase!["argument ", name.0, ": ", cause])
    }

    /// Replaces the hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<Phrase>) -> Self {
        Self { hint: Hint::default(), ..self }.add_hint(hint.into())
    }

    #[cold]
    #[inline(never)]
    fn add_hint(mut self, hint: Phrase) -> Self {
        self.hint.add(hint);
        self
    }

    /// Adds another wording of the hint, for callers who lack a name in the earlier wordings.
    #[must_use]
    pub fn or_hint(self, wording: impl Into<Phrase>) -> Self {
        self.add_wording(wording.into())
    }

    #[cold]
    #[inline(never)]
    fn add_wording(mut self, wording: Phrase) -> Self {
        self.hint.or(wording);
        self
    }

    /// Adds a remark to the hint.
    #[must_use]
    pub fn also_hint(self, hint: impl Into<Phrase>) -> Self {
        self.add_hint(hint.into())
    }

    /// Adds the subject of the failure.
    #[must_use]
    pub fn detail(mut self, detail: Detail) -> Self {
        self.detail = Some(Box::new(detail));
        self
    }

    /// Adds the operation and the path to an error that has neither.
    #[must_use]
    pub fn on(self, operation: &str, path: &str) -> Self {
        Self { hint: self.hint, detail: self.detail, ..Self::of_path(self.code, operation, path, self.message) }
    }

    /// Adds a further failure to the message.
    #[must_use]
    pub fn and_then(mut self, more: &str) -> Self {
        self.message = phrase![self.message, "; ", more];
        self
    }

    /// Adds another error of the same call: its message and its remarks, each remark once.
    #[must_use]
    pub fn and_error(mut self, other: Self) -> Self {
        self.message = phrase![self.message, "; ", other.message];
        self.hint.merge(other.hint);
        self
    }

    /// Returns the message in the names of the typed interface, in snake case.
    pub fn message(&self) -> String {
        self.message.full_text(&TypedNames(NameCase::Snake))
    }

    /// Returns the remarks in the names of the typed interface, in snake case.
    pub fn hint_text(&self) -> Option<String> {
        self.hint.text(&TypedNames(NameCase::Snake))
    }

    /// Replaces the terms by the names of a caller.
    pub fn fix_names(&mut self, names: &dyn Vocabulary) {
        self.message = self.message.full_text(names).into();
        let hint = self.hint.text(names);
        self.hint = Hint::default();
        if let Some(hint) = hint {
            self.hint.add(hint);
        }
    }

    /// Returns the failure in the names of a caller.
    pub fn in_names(self, names: &dyn Vocabulary) -> ErrorText {
        let Self { code, message, path, hint, detail, plan } = self;
        let message = cut(&message.full_text(names), MAX_TEXT).into_owned();
        let hint = hint.text(names).map(|hint| cut(&hint, MAX_TEXT).into_owned());
        ErrorText { code, message, path, hint, detail, plan }
    }
}

/// The name of an argument in a message: a [`Term`], or a name that only one dialect has.
pub struct Argument(Phrase);

impl From<Term> for Argument {
    fn from(term: Term) -> Self {
        Self(term.into())
    }
}

impl From<&str> for Argument {
    fn from(name: &str) -> Self {
        Self(format!("`{name}`").into())
    }
}

impl From<Error> for ErrorText {
    fn from(error: Error) -> Self {
        error.in_names(&TypedNames(NameCase::Snake))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl Serialize for Error {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        ErrorText::from(self.clone()).serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Error {
    fn schema_name() -> Cow<'static, str> {
        ErrorText::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        ErrorText::json_schema(generator)
    }
}

/// Maximum number of characters of a name or text that an error quotes, of a path in its data, and of a message or hint.
const MAX_QUOTED: usize = 300;
const MAX_PATH: usize = 4_096;
const MAX_TEXT: usize = 10_000;

/// Returns the part of a name or text that an error quotes.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    cut(text, MAX_QUOTED)
}

/// Returns at most `max` characters of a text, with `…` after them if there are more.
pub fn cut(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

/// Escapes control and bidirectional characters, so that a file name cannot forge a line of output.
pub fn printable(text: &str) -> Cow<'_, str> {
    // Nearly all names consist of such characters, and a page may have thousands of names.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        out
    });
    Cow::Owned(escaped)
}
