//! The tools that the component imports.

use paddock_protocol::tools::{Change, Failure, Outcome, Tool, Tools};

use crate::guarded::Backend;

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package paddock:server;

            world server { import paddock:files/tools@0.1.0; }
        ",
        path: "../../wit",
        generate_all,
    });
}

use bindings::paddock::files::tools;
use bindings::paddock::files::types::{self, ChangeKind, ErrorCode};

/// The imported tools.
pub(super) struct Imported;

impl Tools for Imported {
    fn describe(&self, dialect: &str) -> Result<Vec<Tool>, Failure> {
        let described = tools::describe(dialect).map_err(failure)?;
        Ok(described.into_iter().map(tool).collect())
    }

    fn call(&self, dialect: &str, name: &str, arguments: &str) -> Outcome {
        let tools::Outcome { ok, result, text, error, changes, truncated: _ } = tools::call(dialect, name, arguments);
        // A failed call has an error; without one, the outcome would pass for a success.
        let unknown = || Failure::new("io", "the tool failed without an error");
        let error = error.map(failure).or_else(|| (!ok).then(unknown));
        Outcome { error, result, text, changes: changes.into_iter().map(change).collect() }
    }
}

impl Backend for Imported {
    fn changes(&self, dialect: &str, name: &str) -> Option<bool> {
        tools::changes(dialect, name)
    }
}

fn tool(tool: tools::Tool) -> Tool {
    let tools::Tool { name, description, input_schema, output_schema, annotations } = tool;
    let tools::Annotations { title, read_only, destructive, idempotent } = annotations;
    Tool { name, title, description, input_schema, output_schema, read_only, destructive, idempotent }
}

fn failure(error: types::Error) -> Failure {
    let types::Error { code, message, path, hint } = error;
    Failure { code: code_name(code).to_owned(), message, path, hint }
}

fn change(change: types::Change) -> Change {
    let kind = match change.kind {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Moved => "moved",
    };
    Change { kind: kind.to_owned(), path: change.path, to: change.to, size: change.size }
}

fn code_name(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::NotFound => "not-found",
        ErrorCode::AlreadyExists => "already-exists",
        ErrorCode::NotAFile => "not-a-file",
        ErrorCode::NotADirectory => "not-a-directory",
        ErrorCode::DirectoryNotEmpty => "directory-not-empty",
        ErrorCode::OutsideWorkspace => "outside-workspace",
        ErrorCode::InvalidPath => "invalid-path",
        ErrorCode::InvalidArgument => "invalid-argument",
        ErrorCode::UnknownTool => "unknown-tool",
        ErrorCode::UnknownDialect => "unknown-dialect",
        ErrorCode::BinaryFile => "binary-file",
        ErrorCode::EncodingLoss => "encoding-loss",
        ErrorCode::NoMatch => "no-match",
        ErrorCode::AmbiguousMatch => "ambiguous-match",
        ErrorCode::PatchInvalid => "patch-invalid",
        ErrorCode::PatchRejected => "patch-rejected",
        ErrorCode::ChangedSinceRead => "changed-since-read",
        ErrorCode::ReadOnly => "read-only",
        ErrorCode::Denied => "denied",
        ErrorCode::ApprovalRequired => "approval-required",
        ErrorCode::TooLarge => "too-large",
        ErrorCode::LimitExceeded => "limit-exceeded",
        ErrorCode::NoSpace => "no-space",
        ErrorCode::PermissionDenied => "permission-denied",
        ErrorCode::Cancelled => "cancelled",
        ErrorCode::BackendGone => "backend-gone",
        ErrorCode::Io => "io",
    }
}
