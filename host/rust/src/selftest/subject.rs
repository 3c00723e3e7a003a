//! The host under test.

use serde_json::Value;

use super::fixture::Fixture;
use crate::outcome::Outcome;

/// A host under test.
pub trait Subject {
    /// Opens the workspace at [`Fixture::root`], with [`Fixture::state`] as the state directory, and closes the
    /// previous one. The suite calls this whenever it has created the tree again.
    ///
    /// # Errors
    ///
    /// The reason why the workspace cannot be opened.
    fn open(&mut self, fixture: &Fixture) -> Result<(), String>;

    /// Makes a call.
    fn call(&mut self, call: &Call<'_>) -> Answer;

    /// Returns the workspace's path as the host reports it, if it differs from the real path.
    fn root(&self) -> Option<String> {
        None
    }

    /// Returns whether the workspace is on a disk, which can have special files and hard links.
    fn has_disk(&self) -> bool {
        true
    }

    /// Returns whether a symbolic link with an absolute target in the workspace is followed.
    fn has_absolute_links(&self) -> bool {
        true
    }

    /// Returns whether calls that need approval get it. Otherwise they may fail with `approval-required`.
    fn approves(&self) -> bool {
        true
    }
}

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// Name of the tool's dialect.
    pub dialect: &'c str,
    /// Name of the tool.
    pub tool: &'c str,
    /// Arguments, a JSON object.
    pub arguments: &'c Value,
}

/// The answer to a call.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Error code, if the call failed.
    pub code: Option<String>,
    /// The result, if the call succeeded.
    pub result: Value,
    /// Whether the answer reports changes.
    pub changed: bool,
    /// Text of all fields of the answer, which is searched for a canary.
    pub all: String,
}

impl Answer {
    /// Parses an answer from a line of JSON that a command line prints.
    ///
    /// # Errors
    ///
    /// An error in words if the line is not such JSON.
    pub fn from_json(line: &str) -> serde_json::Result<Self> {
        let answer: Value = serde_json::from_str(line)?;
        let code = |at: &str| answer.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let ok = answer.get("ok").and_then(Value::as_bool).unwrap_or_default();
        Ok(Self {
            code: if ok { None } else { code("/error/code").or_else(|| Some("none".to_owned())) },
            result: answer.get("result").cloned().unwrap_or_default(),
            changed: answer.get("changes").and_then(Value::as_array).is_some_and(|changes| !changes.is_empty()),
            all: line.to_owned(),
        })
    }
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        let code = outcome.error.as_ref().map_or("none", |error| error.code.name());
        Self {
            code: (!outcome.ok).then(|| code.to_owned()),
            result: outcome.value(),
            changed: !outcome.changes.is_empty(),
            all: format!("{outcome:?}"),
        }
    }
}
