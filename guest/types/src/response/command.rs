use serde::Serialize;

use crate::response::Change;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ran {
    pub exit_code: Option<i32>,
    pub signal: Option<String>,
    pub timed_out: bool,
    #[serde(rename = "session_id")]
    pub session: Option<u32>,
    pub duration_ms: u64,
    pub stdout: Captured,
    pub stderr: Captured,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<Unread>,
    pub confinement: String,
    /// The first of them; all of them are the call's.
    pub changes: Vec<Change>,
    pub total_changes: u64,
    pub ignored: u64,
    pub backup: Option<String>,
    pub refused: Vec<Refused>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Captured {
    pub text: String,
    pub bytes: u64,
    pub truncated: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

/// Output that a result left out, which a session's tool reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unread {
    #[serde(rename = "session_id")]
    pub session: u32,
    pub offset: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    pub path: String,
    pub cause: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sessions {
    pub sessions: Vec<Session>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    #[serde(rename = "session_id")]
    pub id: u32,
    pub command: String,
    pub age_ms: u64,
    pub running: bool,
}

impl Ran {
    /// Returns whether output was cut.
    pub fn is_cut(&self) -> bool {
        self.stdout.truncated || self.stderr.truncated
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is serde's; the lint depends on the width of a pointer"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
