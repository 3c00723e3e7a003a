//! What the suite is run on.

use serde_json::Value;

use super::fixture::Fixture;
use crate::outcome::Outcome;

/// A host under test.
pub trait Subject {
    /// Opens the workspace at [`Fixture::root`], with [`Fixture::state`] for the state directory, and closes what was open
    /// before. The suite does so whenever it has made the tree anew.
    fn open(&mut self, fixture: &Fixture) -> Result<(), String>;

    /// Makes a call.
    fn call(&mut self, call: &Call<'_>) -> Answer;

    /// What the workspace is called by absolute paths, where that is not its own path.
    fn root(&self) -> Option<String> {
        None
    }

    /// Whether its files are on a disk, so that there can be special files and hard links.
    fn has_disk(&self) -> bool {
        true
    }
}

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// Whose tool it is.
    pub dialect: &'c str,
    /// Its name.
    pub tool: &'c str,
    /// A JSON object.
    pub arguments: &'c Value,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The error's code, where it failed.
    pub code: Option<String>,
    /// The result, where it did not.
    pub result: Value,
    /// Whether it says that it changed something.
    pub changed: bool,
    /// Everything that came back, of every field, in which a canary is looked for.
    pub all: String,
}

impl Answer {
    /// The answer that a line of JSON is, as a command line prints it: this one with an error of its own, others with the
    /// one that the dialect has.
    pub fn from_json(line: &str) -> serde_json::Result<Self> {
        let answer: Value = serde_json::from_str(line)?;
        let code = |at: &str| answer.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let error = || code("/error/code").or_else(|| code("/error/error/code"));
        let ok = answer.get("ok").and_then(Value::as_bool).unwrap_or_default();
        Ok(Self {
            code: if ok { None } else { error().or_else(|| Some("none".to_owned())) },
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
