//! Answers and errors of a call, rendered in the shape and wording of its dialect.

use paddock_types::error::{Code, Error, ErrorText};
use paddock_types::path::below;
use paddock_workspace::Root;
use serde::Serialize;

use super::Names;
use crate::args::Args;

/// Call context from which an answer is rendered, in addition to the response. It gives no access to the workspace:
/// everything that a call reads or changes is part of its request, where policy, approval, limits and audit log apply.
pub struct CallContext<'c> {
    /// Arguments of the call.
    pub args: &'c Args,
    /// Roots of the workspace; empty if the workspace could not be opened.
    pub roots: &'c [Root],
    /// Current time in RFC 3339 format.
    pub now: Option<String>,
    /// Random number that the dialect may use in the answer.
    pub random: u64,
    /// Caller's names of arguments and tools.
    pub names: Names,
}

impl CallContext<'_> {
    /// Returns the host's name of a path in a result, or the path itself if the root has no such name.
    pub fn absolute(&self, path: &str) -> String {
        let labelled = self.roots.iter().skip(1).find_map(|root| Some((root, below(path, &root.label)?)));
        let (root, below) = labelled.map_or((self.roots.first(), path), |(root, below)| (Some(root), below));
        match root.and_then(|root| root.names.last()) {
            Some(name) if matches!(below, "" | ".") => name.clone(),
            Some(name) => format!("{}/{below}", name.trim_end_matches('/')),
            None => path.to_owned(),
        }
    }

    /// Returns the error of a tool whose response belongs to a different operation.
    pub fn mixed_up() -> Error {
        Error::new(Code::Io, "the component returned the response of another operation")
    }
}

/// Renders an error as text, with its hint.
pub fn words(error: &ErrorText) -> String {
    match &error.hint {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

/// Serializes a value of this crate as JSON. Such values cannot fail to serialize.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Unwraps the response variant `$variant`, or returns the error of the call.
macro_rules! take {
    ($variant:ident, $response:expr) => {
        match $response? {
            paddock_types::response::Response::$variant(answer) => answer,
            _ => return Err($crate::dialect::answer::CallContext::mixed_up()),
        }
    };
}
pub(crate) use take;
