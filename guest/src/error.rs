//! The one error type of every operation, and the one mapping from what a file
//! system reports ([`Fault`]) to it.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::approval::Plan;
use crate::fs::Fault;

/// Result of everything that a caller can see fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What class of failure it is: the `error-code` of `wit/types.wit`, where each is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
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

/// A failure, written for a reader that has to act on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Error {
    /// What class of failure it is.
    pub code: Code,
    /// Verb, path in backticks, cause; no full stop at the end.
    pub message: String,
    /// The path as the caller gave it, where the failure is about one.
    pub path: Option<String>,
    /// What would work instead.
    pub hint: Option<String>,
    /// What a person would have to approve, where the code is [`Code::ApprovalRequired`].
    #[serde(skip)]
    pub plan: Option<Box<Plan>>,
}

impl Error {
    /// A failure without a path.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: None, hint: None, plan: None }
    }

    /// A failure to `verb` the `path`: ``cannot {verb} `{path}`: {cause}``.
    pub fn at(code: Code, verb: &str, path: &str, cause: impl fmt::Display) -> Self {
        Self {
            code,
            message: format!("cannot {verb} `{}`: {cause}", printable(path)),
            path: Some(path.to_owned()),
            hint: None,
            plan: None,
        }
    }

    /// Adds what would work instead.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A value for one argument that cannot be used: ``argument `{name}`: {cause}``.
    pub fn argument(name: &str, cause: impl fmt::Display) -> Self {
        Self::new(Code::InvalidArgument, format!("argument `{name}`: {cause}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl Fault {
    /// The failure to `verb` the `path` that this fault is.
    pub fn at(&self, verb: &str, path: &str) -> Error {
        let (code, cause) = self.explain();
        let error = Error::at(code, verb, path, cause);
        match self {
            Self::NoSpace => error.hint("free some space, then call again; nothing was changed"),
            Self::NoMemory => error.hint("call again when fewer calls are under way, or do it in smaller parts"),
            Self::ReadOnly => error.hint("read from it, or change something in a writable root"),
            _ => error,
        }
    }

    /// The cause alone.
    pub fn cause(&self) -> &str {
        self.explain().1
    }

    fn explain(&self) -> (Code, &str) {
        match self {
            Self::NotFound => (Code::NotFound, "no such file or directory"),
            Self::Exists => (Code::AlreadyExists, "something exists there already"),
            Self::NotDirectory => (Code::NotADirectory, "a part of the path is not a directory"),
            Self::IsDirectory => (Code::NotAFile, "it is a directory"),
            Self::NotEmpty => (Code::DirectoryNotEmpty, "the directory is not empty"),
            Self::Link => (Code::OutsideWorkspace, "a part of the path became a symbolic link"),
            Self::NotRegular => (Code::NotAFile, "it is not a regular file"),
            Self::Outside => (Code::OutsideWorkspace, "it leads outside the workspace"),
            Self::Access => (Code::PermissionDenied, "the file system refused access"),
            Self::NoSpace => (Code::NoSpace, "no space left on the file system"),
            Self::NoMemory => (Code::LimitExceeded, "the host has too many open files or too little memory"),
            Self::ReadOnly => (Code::ReadOnly, "this root is read-only"),
            Self::TooLarge => (Code::TooLarge, "the file system allows no file of that size"),
            Self::Name => (Code::InvalidPath, "the file system takes no such name"),
            Self::CrossDevice => (Code::Io, "the two are on different file systems"),
            Self::Unsupported => (Code::Io, "the file system cannot do that"),
            Self::Busy => (Code::Io, "it is in use"),
            Self::Gone => (Code::BackendGone, "the file system has gone away"),
            Self::Io(cause) => (Code::Io, cause),
        }
    }
}

/// `text` with control and bidirectional characters escaped, so that a file name
/// cannot forge a line of output.
pub fn printable(text: &str) -> Cow<'_, str> {
    // Nearly all names are of these, and a page may have thousands.
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
