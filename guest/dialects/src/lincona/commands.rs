//! `shell`, `exec_command` and `write_stdin`. The output of a command is returned in every case; a failure or a timeout
//! is a typed error.

use paddock_types::error::{Code, Error, ErrorText, Result};
use paddock_types::rendered::Rendered;
use paddock_types::request::Command;
use paddock_types::response::{Change, Ran, Response};
use serde_json::{Value, json};

use crate::commands::{MAX_OUTPUT_PARAM, YIELD, request, shell, start, text, word, write};
use crate::dialect::answer::{CallContext, take};
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::param::{DefaultValue, optional, required, text as text_or, whole};

const TERMINAL: Output = Output::ResultSchema(&ResultSchema::Object(&[
    ("status", ResultSchema::Words(&["success", "error"])),
    ("message", ResultSchema::Text),
    ("truncated", ResultSchema::Flag),
    ("error", ResultSchema::Optional(&ResultSchema::Words(&["CommandFailedError", "CommandTimeoutError"]))),
    ("exit_code", ResultSchema::Nullable(&ResultSchema::Whole)),
    ("session_id", ResultSchema::Nullable(&ResultSchema::Whole)),
    ("stdout", ResultSchema::Text),
    ("stderr", ResultSchema::Text),
    ("files_touched", ResultSchema::Whole),
    ("bytes_written", ResultSchema::Whole),
    (
        "changes",
        ResultSchema::List(&ResultSchema::Object(&[
            ("path", ResultSchema::Text),
            ("action", ResultSchema::Words(&["created", "modified", "deleted", "moved"])),
            ("bytes_written", ResultSchema::Whole),
        ])),
    ),
]));

/// Runs a command and waits for its end.
pub const SHELL: ToolSpec = ToolSpec {
    name: "shell",
    title: "Run a command",
    description: "Run a command by the shell. Off unless the host enables commands.",
    params: &[
        required("command", "The command"),
        optional("workdir", "Where to run it"),
        whole("timeout_ms", 1, 3_600_000, DefaultValue::Whole(60_000), "Milliseconds that it may take"),
    ],
    traits: ToolTraits::Runs { changes: true },
    request: shell,
    answer,
    output: TERMINAL,
};

/// Starts a command in a session.
pub const EXEC_COMMAND: ToolSpec = ToolSpec {
    name: "exec_command",
    title: "Start a command",
    description: "Start a command on a terminal. Off unless the host enables commands.",
    params: &[required("cmd", "The command"), optional("workdir", "Where to run it"), YIELD, MAX_OUTPUT_PARAM],
    traits: ToolTraits::Runs { changes: true },
    request: |args| {
        let (yield_ms, tokens) = (args.whole("yield_time_ms"), args.whole("max_output_tokens"));
        Ok(request(Command::Start(start(args.text("cmd"), args.opt_text("workdir"), yield_ms, tokens))))
    },
    answer,
    output: TERMINAL,
};

/// Writes to a session.
pub const WRITE_STDIN: ToolSpec = ToolSpec {
    name: "write_stdin",
    title: "Write to a command",
    description: "Write to a command that exec_command started. Off unless the host enables commands.",
    params: &[
        whole("session_id", 0, u32::MAX as u64, DefaultValue::Required, "What exec_command said"),
        text_or("chars", "", "What to write"),
        YIELD,
        MAX_OUTPUT_PARAM,
    ],
    traits: ToolTraits::Runs { changes: true },
    request: |args| {
        let input = write(args, args.text("chars"), args.whole("yield_time_ms"));
        Ok(request(Command::Write(input)))
    },
    answer,
    output: TERMINAL,
};

/// Returns the error type of these tools.
pub fn error_type(error: &ErrorText) -> &'static str {
    match error.code {
        Code::InvalidArgument => "ToolValidationError",
        // The command may not run in this directory.
        _ if error.path.is_some() => "FsViolationError",
        _ => "CommandFailedError",
    }
}

fn answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let ran = take!(Ran, response);
    let error = if ran.timed_out {
        Some("CommandTimeoutError")
    } else if ran.signal.is_some() || ran.exit_code.is_some_and(|code| code != 0) {
        Some("CommandFailedError")
    } else {
        None
    };
    let message = text(&ran, &context.names);
    let reported = Rendered::new(&value(&ran, error, &message), message).truncated(ran.is_cut());
    if !ran.timed_out {
        return Ok(reported);
    }
    let after = context.args.opt_whole("timeout_ms").unwrap_or(ran.duration_ms);
    Ok(reported.failed(
        Error::new(Code::LimitExceeded, format!("the command was ended: its time of {after} ms was up"))
            .hint("give it more time by `timeout_ms`, or start it by `exec_command`"),
    ))
}

fn value(ran: &Ran, error: Option<&str>, message: &str) -> Value {
    let change = |change: &Change| json!({ "path": change.path, "action": word(change.kind), "bytes_written": change.size.unwrap_or(0) });
    let mut value = json!({
        "status": if error.is_some() { "error" } else { "success" },
        "message": message,
        "truncated": ran.is_cut(),
        "exit_code": ran.exit_code,
        "session_id": ran.session,
        "stdout": ran.stdout.text,
        "stderr": ran.stderr.text,
        "files_touched": ran.total_changes,
        "bytes_written": ran.changes.iter().filter_map(|change| change.size).sum::<u64>(),
        "changes": ran.changes.iter().map(change).collect::<Vec<_>>(),
    });
    if let (Some(error), Some(members)) = (error, value.as_object_mut()) {
        members.insert("error".to_owned(), error.into());
    }
    value
}
