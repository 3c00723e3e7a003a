//! Events of calls: the start, each written file, and the end.
//!
//! An event never holds content. It tells paths, counts and times, and no path
//! of a secret: what `.agentignore` names, and what a call that was refused as
//! `denied` asked for, is counted in [`Ended::redacted`] and nothing more.
//!
//! Each serialises to a JSON object whose member `event` says which it is:
//! `start`, `output`, `file-written` or `end`. Members stay what they are; new ones can come.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use crate::types::{Change, ErrorCode, WriteMode};

/// Something that happened in a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// A call was made. Nothing has been done for it.
    Start(Started),
    /// A call took what a command printed.
    Output(Output),
    /// A call wrote a file; told when it has ended, before that.
    FileWritten(FileWritten),
    /// A call ended: well, with a failure, refused, or stopped by the host.
    End(Ended),
}

/// A call was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Started {
    /// The call: all its events have this in common, and no other call has it.
    pub call: String,
    /// When, in RFC 3339 and UTC.
    pub time: String,
    /// Whose names the tool and its arguments have.
    pub dialect: String,
    /// The tool as the caller named it, its first 64 characters; of a typed function the name that it has in the `paddock` dialect.
    pub tool: String,
}

/// A call took what a command printed, since it started or since the last call that took of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Output {
    /// The call.
    pub call: String,
    /// When, in RFC 3339 and UTC.
    pub time: String,
    /// The session that the command goes on in, if it does.
    pub session: Option<u32>,
    /// Bytes of standard output, or of the terminal.
    pub stdout_bytes: u64,
    /// Bytes of standard error.
    pub stderr_bytes: u64,
    /// Whether something of it was left out of the result.
    pub truncated: bool,
}

/// A call wrote a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FileWritten {
    /// The call.
    pub call: String,
    /// When that was known, in RFC 3339 and UTC.
    pub time: String,
    /// The file, relative to the workspace.
    pub path: String,
    /// Bytes written: for [`WriteMode::Append`] those put at the end, else all that the file has.
    pub bytes: u64,
    /// Whether the file is new, replaced or longer: `create`, `overwrite` or `append`.
    pub mode: WriteMode,
}

/// A call ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ended {
    /// The call.
    pub call: String,
    /// When, in RFC 3339 and UTC.
    pub time: String,
    /// As in [`Started`].
    pub dialect: String,
    /// As in [`Started`].
    pub tool: String,
    /// The operation, whatever the tool is called: `read`, `write`, `grep` and so on. `None` if the arguments were invalid.
    pub operation: Option<String>,
    /// The paths: relative to the workspace where all went well, as given where not.
    pub paths: Vec<String>,
    /// Number of paths that `.agentignore` hides and the event leaves out.
    pub redacted: u64,
    /// Bytes read, written or searched.
    pub bytes: u64,
    /// Lines read, changed or found, where they are counted.
    pub lines: Option<u64>,
    /// Whether a limit cut the result short.
    pub truncated: bool,
    /// Milliseconds from start to end.
    pub duration_ms: f64,
    /// Why it failed; none where it did what was asked. In JSON, `outcome`: the code, or `ok`.
    #[serde(rename = "outcome", serialize_with = "outcome")]
    pub error: Option<ErrorCode>,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

impl Ended {
    /// Whether a rule forbade the call, and not what it found.
    pub fn is_refused(&self) -> bool {
        use ErrorCode::{ApprovalRequired, Denied, OutsideWorkspace, ReadOnly};
        matches!(self.error, Some(OutsideWorkspace | ReadOnly | Denied | ApprovalRequired))
    }
}

fn outcome<S: Serializer>(error: &Option<ErrorCode>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(error.map_or("ok", ErrorCode::name))
}

impl Serialize for WriteMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Create => "create",
            Self::Overwrite => "overwrite",
            Self::Append => "append",
        })
    }
}

/// This moment as events have it.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// A function that is told of events.
#[derive(Clone)]
pub(crate) struct Listener(pub(crate) Arc<dyn Fn(&Event) + Send + Sync>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}
