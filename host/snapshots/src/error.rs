//! Errors of snapshots.

use std::io;

/// Result of an operation on snapshots.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a snapshot was not taken, or not restored.
///
/// The message of the file system or of the store is the [`source`](std::error::Error::source). Paths are relative to the
/// tree and escaped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text does not name a store, or names one that this program cannot reach.
    #[error("cannot use the store `{url}`: {cause}")]
    Url {
        /// Text that the caller gave.
        url: String,
        /// Cause, and what would work instead.
        cause: String,
    },
    /// The name cannot be that of a snapshot.
    #[error(
        "cannot name a snapshot `{name}`: a name has 1 to 128 letters, digits, `.`, `_` and `-`, and does not begin with `.`"
    )]
    Name {
        /// Name that the caller gave, escaped.
        name: String,
    },
    /// The store has a snapshot of this name already.
    #[error(
        "cannot store the snapshot `{name}`: the store has a snapshot of this name; use another name, or remove it first"
    )]
    Exists {
        /// Name that the caller gave.
        name: String,
    },
    /// The store has no snapshot of this name.
    #[error("cannot find the snapshot `{name}`: the store has none of this name; list the snapshots of the store")]
    Missing {
        /// Name that the caller gave.
        name: String,
    },
    /// The store failed.
    #[error("cannot {operation} `{object}` in the store")]
    Store {
        /// Verb of the operation.
        operation: &'static str,
        /// Key of the object.
        object: String,
        /// Error of the store.
        #[source]
        cause: StoreError,
    },
    /// A file or directory of a tree cannot be read or written.
    #[error("cannot {operation} `{path}`")]
    File {
        /// Verb of the operation.
        operation: &'static str,
        /// Path in the tree.
        path: String,
        /// Error of the file system.
        #[source]
        cause: io::Error,
    },
    /// Another program changed the tree during each attempt to read it.
    #[error(
        "cannot take a consistent snapshot: another program changed {} while they were read, in each of {attempts} attempts; end that program first",
        listed(paths)
    )]
    Changed {
        /// Paths that changed.
        paths: Vec<String>,
        /// Number of attempts.
        attempts: u32,
    },
    /// The manifest of a snapshot is damaged or forged.
    #[error("cannot read the snapshot `{name}`: line {line} of its manifest is wrong: {cause}")]
    Manifest {
        /// Name of the snapshot.
        name: String,
        /// Number of the line, counted from 1.
        line: u64,
        /// Cause of the error.
        cause: String,
    },
    /// The manifest is not the one that the caller expects.
    #[error("cannot restore the snapshot: the SHA-256 of its manifest is {actual}, and {expected} was expected")]
    Digest {
        /// Digest that the caller gave.
        expected: String,
        /// Digest of the manifest in the store.
        actual: String,
    },
    /// The content of a file in the store is damaged or forged.
    #[error("cannot restore `{path}`: its object `{object}` in the store {cause}")]
    Object {
        /// Path in the tree.
        path: String,
        /// Key of the object.
        object: String,
        /// Cause of the error.
        cause: String,
    },
    /// A bound was reached.
    #[error("cannot {operation}: {what} are more than the limit of {limit}")]
    Limit {
        /// Verb and object of the operation.
        operation: &'static str,
        /// The number that is too large, with its unit.
        what: String,
        /// Maximum.
        limit: u64,
    },
    /// The tree cannot be restored to this path.
    #[error("cannot restore to `{path}`: {cause}")]
    Destination {
        /// Path that the caller gave.
        path: String,
        /// Cause, and what would work instead.
        cause: String,
    },
    /// The store is used by an operation that excludes this one.
    #[error(
        "cannot {operation}: the store is in use by {marker}; try again when that has ended, or if its process was killed, after 24 hours or without the object `{marker}`"
    )]
    Busy {
        /// Verb and object of the operation.
        operation: &'static str,
        /// Key of the other operation's marker.
        marker: String,
    },
    /// The directory of the store is in the tree, which would contain its own snapshots.
    #[error("cannot take the snapshot: the store is in the tree, at `{path}`; use a store elsewhere")]
    StoreInTree {
        /// Path in the tree.
        path: String,
    },
    /// A task of this library ended without a result.
    #[error("cannot continue: a task ended without a result: {cause}")]
    Task {
        /// Cause of the error.
        cause: String,
    },
}

/// Maximum length of the message of a store, in characters.
const MAX_MESSAGE: usize = 1000;

/// The message of a store, escaped and cut. The answer of a server can contain anything, such as the session token that the
/// server does not accept: values of the variables with credentials are left out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(String);

impl StoreError {
    fn new(cause: &dyn std::error::Error) -> Self {
        let mut text = cause.to_string();
        let mut source = cause.source();
        while let Some(inner) = source {
            let inner_text = inner.to_string();
            // Many errors repeat the message of their sources.
            if !text.contains(&inner_text) {
                text = format!("{text}: {inner_text}");
            }
            source = inner.source();
        }
        for variable in ["AWS_SESSION_TOKEN", "AWS_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"] {
            if let Some(value) = std::env::var(variable).ok().filter(|value| value.len() >= MIN_CREDENTIAL) {
                text = text.replace(&value, &format!("[{variable}]"));
            }
        }
        let escaped: String = text.escape_debug().take(MAX_MESSAGE).collect();
        Self(escaped)
    }
}

/// Minimum length of a credential in bytes. The replacement of a shorter text would show what the text is.
const MIN_CREDENTIAL: usize = 8;

impl From<object_store::Error> for StoreError {
    fn from(cause: object_store::Error) -> Self {
        Self::new(&cause)
    }
}

impl From<io::Error> for StoreError {
    fn from(cause: io::Error) -> Self {
        Self::new(&cause)
    }
}

/// Maximum number of paths in a message.
const MAX_PATHS: usize = 5;

fn listed(paths: &[String]) -> String {
    let mut text: Vec<_> = paths.iter().take(MAX_PATHS).map(|path| format!("`{path}`")).collect();
    if let Some(more @ 1..) = paths.len().checked_sub(MAX_PATHS) {
        text.push(format!("{more} more"));
    }
    text.join(", ")
}

impl Error {
    pub(crate) fn file(operation: &'static str, path: impl ToString) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_string();
        move |cause| Self::File { operation, path, cause }
    }
}

impl From<tokio::task::JoinError> for Error {
    fn from(cause: tokio::task::JoinError) -> Self {
        Self::Task { cause: cause.to_string() }
    }
}
