//! Outcomes of calls.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::bindings::exports::paddock::files::tools;
use crate::types::{Change, ChangeKind, ErrorCode, Plan, ToolError};

/// The outcome of a call. A failure of the tool is an outcome too.
///
/// Serializes to the one JSON object that the command line prints: `ok`, `error` if the tool failed, `result`, `text`
/// and `changes`. `error` has the same members in every dialect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Whether the tool succeeded.
    pub ok: bool,
    /// The result in the dialect's schema. If `ok` is false, the error in the dialect's form.
    pub result: Box<RawValue>,
    /// The result as text for the model.
    pub text: String,
    /// The error, if `ok` is false.
    pub error: Option<ToolError>,
    /// The changes that the call made, in order.
    pub changes: Vec<Change>,
    /// Whether a limit cut the result short. The result then says how to continue.
    pub truncated: bool,
    /// The plan that needs approval, if the call failed for lack of it.
    pub plan: Option<Plan>,
}

impl Outcome {
    /// Returns the result as a JSON value.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(self.result.get()).unwrap_or_default()
    }

    /// Returns the outcome of a call whose arguments never reached the tool.
    pub fn invalid_argument(cause: impl Into<String>) -> Self {
        Self::failed(ToolError::new(ErrorCode::InvalidArgument, cause))
    }

    pub(crate) fn failed(error: ToolError) -> Self {
        let hint = error.hint.as_ref().map(|hint| format!("\n{hint}")).unwrap_or_default();
        Self {
            ok: false,
            result: serde_json::value::to_raw_value(&error).unwrap_or_default(),
            text: format!("{}{hint}", error.message),
            error: Some(error),
            changes: Vec::new(),
            truncated: false,
            plan: None,
        }
    }
}

impl From<ToolError> for Outcome {
    fn from(error: ToolError) -> Self {
        Self::failed(error)
    }
}

impl From<tools::Outcome> for Outcome {
    fn from(outcome: tools::Outcome) -> Self {
        match json_line(outcome.result) {
            Ok(result) => Self {
                ok: outcome.ok,
                result,
                text: outcome.text,
                error: outcome.error,
                changes: outcome.changes,
                truncated: outcome.truncated,
                plan: None,
            },
            Err(cause) => {
                Self::failed(ToolError::new(ErrorCode::Io, format!("the component's result is not JSON: {cause}")))
            }
        }
    }
}

/// Returns JSON that is inserted into an answer verbatim. Line breaks are an error: where each answer is one line,
/// a further line could pass for the answer to another call.
fn json_line(text: String) -> serde_json::Result<Box<RawValue>> {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
        return Err(serde::de::Error::custom("it has several lines"));
    }
    RawValue::from_string(text)
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("Outcome", 5)?;
        record.serialize_field("ok", &self.ok)?;
        if !self.ok {
            record.serialize_field("error", &self.error)?;
        }
        record.serialize_field("result", &self.result)?;
        record.serialize_field("text", &self.text)?;
        // A failed call seldom changes anything; if it did, the caller has to know.
        if self.ok || !self.changes.is_empty() {
            record.serialize_field("changes", &self.changes)?;
        }
        record.end()
    }
}

impl ToolError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: None, hint: None }
    }

    pub(crate) fn hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }
}

impl Serialize for ToolError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("Error", 4)?;
        record.serialize_field("code", self.code.name())?;
        record.serialize_field("message", &self.message)?;
        record.serialize_field("path", &self.path)?;
        record.serialize_field("hint", &self.hint)?;
        record.end()
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = match self.kind {
            ChangeKind::Created => "created",
            ChangeKind::Modified => "modified",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Moved => "moved",
        };
        let fields = 2 + usize::from(self.to.is_some()) + usize::from(self.size.is_some());
        let mut record = serializer.serialize_struct("Change", fields)?;
        record.serialize_field("kind", kind)?;
        record.serialize_field("path", &self.path)?;
        if let Some(to) = &self.to {
            record.serialize_field("to", to)?;
        }
        if let Some(size) = &self.size {
            record.serialize_field("size", size)?;
        }
        record.end()
    }
}

impl ErrorCode {
    /// Returns the code as it appears in JSON results.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::AlreadyExists => "already-exists",
            Self::NotAFile => "not-a-file",
            Self::NotADirectory => "not-a-directory",
            Self::DirectoryNotEmpty => "directory-not-empty",
            Self::OutsideWorkspace => "outside-workspace",
            Self::InvalidPath => "invalid-path",
            Self::InvalidArgument => "invalid-argument",
            Self::UnknownTool => "unknown-tool",
            Self::UnknownDialect => "unknown-dialect",
            Self::BinaryFile => "binary-file",
            Self::EncodingLoss => "encoding-loss",
            Self::NoMatch => "no-match",
            Self::AmbiguousMatch => "ambiguous-match",
            Self::PatchInvalid => "patch-invalid",
            Self::PatchRejected => "patch-rejected",
            Self::ChangedSinceRead => "changed-since-read",
            Self::ReadOnly => "read-only",
            Self::Denied => "denied",
            Self::ApprovalRequired => "approval-required",
            Self::TooLarge => "too-large",
            Self::LimitExceeded => "limit-exceeded",
            Self::NoSpace => "no-space",
            Self::PermissionDenied => "permission-denied",
            Self::Cancelled => "cancelled",
            Self::BackendGone => "backend-gone",
            Self::Io => "io",
        }
    }
}
