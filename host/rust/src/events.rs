//! Events of calls: the start, each written file, and the end.
//!
//! An event never contains file content. It has paths, counts and times. Paths that `.agentignore` hides, and paths of
//! calls that were refused as `denied`, are only counted, in [`Ended::redacted`].
//!
//! Each event serializes to a JSON object whose member `event` is its type: `start`, `output`, `file-written` or `end`.
//! Members keep their meaning; later versions may add members.
//!
//! Events are not spans of `tracing`, because no subscriber can make a call fail whose audit record cannot be written.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use crate::types::{Change, ErrorCode, WriteMode};

/// An event of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// A call started; it has not run yet.
    Start(Started),
    /// A call read output of a command.
    Output(Output),
    /// A call wrote a file. The event follows when the call has ended, before the event of the end.
    FileWritten(FileWritten),
    /// A call ended: with success, with a failure, by a refusal, or by the host.
    End(Ended),
}

/// The start of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Started {
    /// Unique id of the call, which all of its events have.
    pub call: String,
    /// Time of the event, in RFC 3339 and UTC.
    pub time: String,
    /// Dialect of the tool.
    pub dialect: String,
    /// Tool as the caller named it, at most 64 characters; for a typed function, its name in the `paddock` dialect.
    pub tool: String,
}

/// Output of a command that a call read: since the start of the command, or since the previous call that read output.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Output {
    /// Id of the call.
    pub call: String,
    /// Time of the event, in RFC 3339 and UTC.
    pub time: String,
    /// Session in which the command continues, if it does.
    pub session: Option<u32>,
    /// Number of bytes of standard output, or of the terminal.
    pub stdout_bytes: u64,
    /// Number of bytes of standard error.
    pub stderr_bytes: u64,
    /// Whether the result leaves out a part of the output.
    pub truncated: bool,
}

/// A file that a call wrote.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FileWritten {
    /// Id of the call.
    pub call: String,
    /// Time at which the host learned of the write, in RFC 3339 and UTC.
    pub time: String,
    /// Path of the file, relative to the workspace.
    pub path: String,
    /// Number of bytes written: for [`WriteMode::Append`] the appended bytes, otherwise the size of the file.
    pub bytes: u64,
    /// How the call wrote the file: `create`, `overwrite` or `append`.
    pub mode: WriteMode,
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ended {
    /// Id of the call.
    pub call: String,
    /// Time of the event, in RFC 3339 and UTC.
    pub time: String,
    /// As in [`Started`].
    pub dialect: String,
    /// As in [`Started`].
    pub tool: String,
    /// Operation, which does not depend on the name of the tool: `read`, `write`, `grep` and so on. `None` if the
    /// arguments were invalid.
    pub operation: Option<String>,
    /// Paths: relative to the workspace after success, as the caller gave them after a failure.
    pub paths: Vec<String>,
    /// Number of paths that `.agentignore` hides and the event leaves out.
    pub redacted: u64,
    /// Number of bytes read, written or searched.
    pub bytes: u64,
    /// Number of lines read, changed or found, if the operation counts lines.
    pub lines: Option<u64>,
    /// Whether a limit cut the result short.
    pub truncated: bool,
    /// Duration of the call in milliseconds.
    pub duration_ms: f64,
    /// Code of the failure; `None` after success. In JSON, `outcome`: the code, or `ok`.
    #[serde(rename = "outcome", serialize_with = "outcome")]
    pub error: Option<ErrorCode>,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

impl Ended {
    /// Returns whether a rule refused the call, as opposed to a failure of the operation.
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

/// Returns the current time in the format of events.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// A function that gets events.
#[derive(Clone)]
pub(crate) struct Listener(pub(crate) Arc<dyn Fn(&Event) + Send + Sync>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}
