//! One call, from names and JSON to an outcome: decode, policy, run, encode.
//! Every failure is a value in the outcome.

use crate::dialect::Dialect;
use crate::error::{Error, Result};
use crate::fs::{Filesystem, journal};
use crate::ops;
use crate::policy::Policy;
use crate::request::{Access, Request};
use crate::response::{Change, Response};
use crate::workspace::Workspace;

/// How a call ended: the `outcome` of `wit/tools.wit`.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result as JSON in the dialect's shape; where there is an error, the error in it.
    pub result: String,
    /// The result as text for the model.
    pub text: String,
    /// Why the call failed.
    pub error: Option<Error>,
    /// What it changed, in order.
    pub changes: Vec<Change>,
    /// Whether a limit cut the result short.
    pub truncated: bool,
}

/// Calls the tool `name` of a dialect with `arguments`, a JSON object.
pub fn call(fs: &dyn Filesystem, policy: &Policy, dialect: &str, name: &str, arguments: &str) -> Outcome {
    let dialect = match Dialect::find(dialect) {
        Ok(dialect) => dialect,
        Err(error) => return Outcome::failed(error),
    };
    Outcome::of(dialect, dialect.request(name, arguments).and_then(|request| run(fs, policy, &request)))
}

/// Does what a request asks, with the changes that it made.
pub fn run(fs: &dyn Filesystem, policy: &Policy, request: &Request) -> Result<(Response, Vec<Change>)> {
    let workspace = open(fs, policy, request.access())?;
    let response = ops::run(&workspace, request)?;
    Ok((response, workspace.take_changes()))
}

/// The workspace for a call, recovered from what a crash left.
pub fn open<'a>(fs: &'a dyn Filesystem, policy: &'a Policy, access: Access) -> Result<Workspace<'a>> {
    let workspace = Workspace::open(fs, policy)?;
    let changes = access == Access::Change;
    if changes {
        workspace.check_any_change()?;
    }
    // Where recovery is not possible, as in a read-only workspace, reading still is.
    journal::recover(&workspace).or_else(|error| if changes { Err(error) } else { Ok(()) })?;
    Ok(workspace)
}

impl Outcome {
    /// What an operation answered, in the shape of a dialect.
    pub fn of(dialect: &Dialect, answer: Result<(Response, Vec<Change>)>) -> Self {
        match answer {
            Ok((response, changes)) => Self {
                result: (dialect.result)(&response),
                text: (dialect.text)(&response),
                error: None,
                changes,
                truncated: response.truncated(),
            },
            Err(error) => Self::failure(error, dialect.error),
        }
    }

    /// The outcome of a call that failed before its dialect was known.
    pub fn failed(error: Error) -> Self {
        Self::failure(error, |error| serde_json::json!(error).to_string())
    }

    fn failure(error: Error, shape: fn(&Error) -> String) -> Self {
        let text = match &error.hint {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        Self { result: shape(&error), text, error: Some(error), changes: Vec::new(), truncated: false }
    }
}

impl Response {
    /// Whether a limit cut it short.
    pub fn truncated(&self) -> bool {
        match self {
            Self::Read(read) => read.truncated,
            Self::ReadMany(many) => many.truncated,
            Self::List(list) => list.truncated,
            Self::Tree(tree) => tree.truncated,
            Self::Glob(glob) => glob.truncated,
            Self::Grep(grep) => grep.truncated,
            Self::Write(_) | Self::Edit(_) | Self::ApplyPatch(_) | Self::MakeDir(_) => false,
            Self::Copy(_) | Self::Move(_) | Self::Delete(_) | Self::Stat(_) => false,
        }
    }
}
