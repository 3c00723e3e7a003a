//! The source of a setting.

use std::fmt;
use std::path::{Path, PathBuf};

use super::node::Fault;
use crate::error::Error;

/// Source of a policy's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    BuiltIn,
    /// A dialect's specification.
    Dialect(String),
    File(PathBuf),
    /// The variable `PADDOCK_POLICY`.
    Environment,
    /// An argument of the command line, named by its option.
    Argument(&'static str),
    /// A token of a caller of the server, by its description.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    Token(String),
}

impl Source {
    /// Returns the origin of a value: `/path/file.yaml:12`.
    pub(super) fn at(&self, line: usize) -> String {
        match self {
            Self::File(_) | Self::Environment => format!("{self}:{line}"),
            _ => self.to_string(),
        }
    }

    /// Returns the error for a text of this source.
    pub(super) fn fail(&self, Fault { line, cause }: Fault) -> Error {
        Error::PolicySource { origin: self.at(line), cause: printable(&cause) }
    }

    /// Returns the error for a setting of this source.
    pub(super) fn wrong(&self, line: usize, setting: &str, cause: impl fmt::Display) -> Error {
        self.fail(Fault::new(line, format!("`{setting}`: {cause}")))
    }

    /// Returns the error for a file that cannot be read.
    pub(super) fn unreadable(path: &Path, cause: impl fmt::Display) -> Error {
        Error::PolicySource { origin: Self::File(path.to_owned()).to_string(), cause: cause.to_string() }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => formatter.write_str("built in"),
            Self::Dialect(dialect) => write!(formatter, "built in ({dialect})"),
            Self::File(path) => formatter.write_str(&printable(&path.to_string_lossy())),
            Self::Environment => formatter.write_str("PADDOCK_POLICY"),
            Self::Argument(option) => formatter.write_str(option),
            #[cfg(all(target_os = "linux", feature = "serve"))]
            Self::Token(description) => formatter.write_str(&printable(description)),
        }
    }
}

/// Maximum number of characters of a message, which could otherwise contain a whole file.
const MAX_PRINTED: usize = 600;

/// Escapes characters that could forge a line, reverse the direction of the text, or control a terminal.
pub(super) fn printable(text: &str) -> String {
    let is_odd = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars().take(MAX_PRINTED) {
        match is_odd(c) {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    if text.chars().nth(MAX_PRINTED).is_some() {
        escaped.push('…');
    }
    escaped
}
