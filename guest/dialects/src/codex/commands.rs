//! `exec_command` and `write_stdin` with the interface of Codex: wait times are clamped to its bounds, and results use
//! its wording.

use paddock_types::error::Result;
use paddock_types::rendered::Rendered;
use paddock_types::request::{Command, Request, Start};
use paddock_types::response::Response;
use serde_json::{Value, json};

use crate::args::Args;
use crate::commands::{output, quote, remarks, request, start, write};
use crate::dialect::answer::{CallContext, take};
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::param::{DefaultValue, Param, flag, optional, required, text, whole};

/// Minimum and maximum wait time of a call, in milliseconds.
const YIELD_MS: (u64, u64) = (250, 30_000);
/// Minimum and maximum wait time of a call without input, in milliseconds.
const EMPTY_YIELD_MS: (u64, u64) = (5_000, 300_000);

const RESULT: Output = Output::ResultSchema(&ResultSchema::Object(&[
    ("chunk_id", ResultSchema::Text),
    ("wall_time_seconds", ResultSchema::Number),
    ("exit_code", ResultSchema::Optional(&ResultSchema::Whole)),
    ("session_id", ResultSchema::Optional(&ResultSchema::Whole)),
    ("original_token_count", ResultSchema::Whole),
    ("output", ResultSchema::Text),
]));

/// Tools that run commands.
pub const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "exec_command",
        title: "Run a command",
        description: "Run a command; returns its output, or a session ID if it still runs.",
        params: &[
            required("cmd", "Shell command"),
            optional("workdir", "Where to run it (the workspace)"),
            optional("shell", "Another shell for it"),
            flag("login", true, "As a login shell, if shell is given"),
            flag("tty", false, "Give it a terminal; else pipes"),
            yield_time(10_000),
            max_output_param(),
        ],
        traits: ToolTraits::Runs { changes: true },
        request: exec_command,
        answer,
        output: RESULT,
    },
    ToolSpec {
        name: "write_stdin",
        title: "Write to a command",
        description: "Write to a session's command; returns its new output.",
        params: &[
            whole("session_id", 0, u32::MAX as u64, DefaultValue::Required, "The session ID"),
            text("chars", "", "What to write; may be empty to wait"),
            yield_time(250),
            max_output_param(),
        ],
        traits: ToolTraits::Runs { changes: true },
        request: write_stdin,
        answer,
        output: RESULT,
    },
];

const fn yield_time(default: u64) -> Param {
    whole("yield_time_ms", 0, u64::MAX, DefaultValue::Whole(default), "Milliseconds to collect output")
}

const fn max_output_param() -> Param {
    whole("max_output_tokens", 1, u64::MAX, DefaultValue::Whole(10_000), "Most output")
}

fn exec_command(args: &Args) -> Result<Request> {
    let cmd = args.text("cmd");
    let command = match args.opt_text("shell").filter(|shell| !shell.is_empty()) {
        None => cmd,
        Some(shell) => {
            let option = if args.flag("login") { "-lc" } else { "-c" };
            format!("exec {} {option} {}", quote(&shell), quote(&cmd))
        }
    };
    let yield_ms = args.whole("yield_time_ms").clamp(YIELD_MS.0, YIELD_MS.1);
    let start = start(command, args.opt_text("workdir"), yield_ms, args.whole("max_output_tokens"));
    // As in Codex, a command without a terminal has no input: some programs would wait for it, such as `rg PATTERN`.
    let terminal = args.flag("tty");
    Ok(request(Command::Start(Start { terminal, input: terminal, ..start })))
}

fn write_stdin(args: &Args) -> Result<Request> {
    let chars = args.text("chars");
    let (least, max) = if chars.is_empty() { EMPTY_YIELD_MS } else { YIELD_MS };
    let yield_ms = args.whole("yield_time_ms").clamp(least, max);
    Ok(request(Command::Write(write(args, chars, yield_ms))))
}

fn answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let ran = take!(Ran, response);
    let chunk_id = format!("{:06x}", context.random & 0x00ff_ffff);
    let mut output = output(&ran);
    let remarks = remarks(&ran, &context.names);
    if !remarks.is_empty() {
        output.push_str(if output.is_empty() || output.ends_with('\n') { "" } else { "\n" });
        output.push_str(&remarks.join("\n"));
    }
    // `max_output_tokens` counts four bytes as a token as well.
    let tokens = ran.stdout.bytes.saturating_add(ran.stderr.bytes).div_ceil(4);
    let mut lines = vec![
        format!("Chunk ID: {chunk_id}"),
        format!("Wall time: {}.{:03}0 seconds", ran.duration_ms / 1_000, ran.duration_ms % 1_000),
    ];
    let mut value = json!({ "chunk_id": chunk_id, "wall_time_seconds": seconds(ran.duration_ms) });
    let mut put = |name: &str, member: Value| {
        if let Some(members) = value.as_object_mut() {
            members.insert(name.to_owned(), member);
        }
    };
    if let Some(code) = ran.exit_code {
        lines.push(format!("Process exited with code {code}"));
        put("exit_code", code.into());
    } else if let Some(signal) = &ran.signal {
        lines.push(format!("Process ended by {signal}"));
    }
    if let Some(session) = ran.session {
        lines.push(format!("Process running with session ID {session}"));
        put("session_id", session.into());
    }
    lines.push(format!("Original token count: {tokens}"));
    lines.push(format!("Output:\n{output}"));
    put("original_token_count", tokens.into());
    put("output", output.into());
    Ok(Rendered::new(&value, lines.join("\n")).truncated(ran.is_cut()))
}

#[expect(clippy::cast_precision_loss, reason = "no command takes 2^53 milliseconds")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}
