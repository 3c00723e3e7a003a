//! `shell_execute` and `evaluate_python`, which weakincentives runs in a container, with their names, defaults, bounds
//! and results.

use paddock_types::error::{Code, Error, Result};
use paddock_types::rendered::Rendered;
use paddock_types::request::{Command, Request, Run, Script};
use paddock_types::response::{Ran, Response};
use serde_json::{Value, json};

use crate::args::Args;
use crate::commands::{quote, quoted, remarks, request, run};
use crate::dialect::answer::{CallContext, take};
use crate::dialect::spec::{Output, ResultSchema, ToolSpec, ToolTraits};
use crate::param::{DefaultValue, Param, ParamKind, flag, optional, required, texts};
use crate::weakincentives::reported;

/// Bounds to which `timeout_seconds` is clamped.
const TIMEOUT_SECONDS: (f64, f64) = (1.0, 120.0);
/// Time limit of `evaluate_python`, in milliseconds.
const EVALUATION_MS: u64 = 5_000;
/// Maximum number of characters of each of its output streams.
const EVALUATION_CHARS: usize = 4_096;
/// Path of the workspace in the tools of weakincentives.
const WORKSPACE: &str = "/workspace";
/// Maximum number of environment variables of a call.
const MAX_VARIABLES: usize = 64;
/// Exit status of a command that timed out; the same value as `timeout(1)`.
const TIMED_OUT: i32 = 124;

/// Tools that run commands.
pub const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "shell_execute",
        title: "Run a command",
        description: "Run a short command in the workspace.",
        params: &[
            texts("command", DefaultValue::Required, "The program and its arguments"),
            optional("cwd", "Directory, relative to the root"),
            named("env", "Environment variables"),
            optional("stdin", "Its standard input"),
            number("timeout_seconds", 30, "Seconds, 1 to 120"),
            flag("capture_output", true, "Give its output"),
        ],
        traits: ToolTraits::Runs { changes: true },
        request: shell_execute,
        answer: shell_answer,
        output: Output::ResultSchema(&ResultSchema::Object(&[
            ("success", ResultSchema::Flag),
            ("message", ResultSchema::Text),
            (
                "value",
                ResultSchema::Object(&[
                    ("command", ResultSchema::List(&ResultSchema::Text)),
                    ("cwd", ResultSchema::Text),
                    ("exit_code", ResultSchema::Whole),
                    ("stdout", ResultSchema::Text),
                    ("stderr", ResultSchema::Text),
                    ("duration_ms", ResultSchema::Whole),
                    ("timed_out", ResultSchema::Flag),
                ]),
            ),
        ])),
    },
    ToolSpec {
        name: "evaluate_python",
        title: "Run Python",
        description: "Run a short Python script in the workspace by `python3 -c`, for at most 5 seconds.",
        params: &[required("code", "The script")],
        traits: ToolTraits::Runs { changes: true },
        request: |args| Ok(request(Command::Run(run(Script::Python(args.text("code")), None, EVALUATION_MS)))),
        answer: evaluate_answer,
        output: Output::ResultSchema(&ResultSchema::Object(&[
            ("success", ResultSchema::Flag),
            ("message", ResultSchema::Text),
            (
                "value",
                ResultSchema::Object(&[
                    ("value_repr", ResultSchema::Nullable(&ResultSchema::Text)),
                    ("stdout", ResultSchema::Text),
                    ("stderr", ResultSchema::Text),
                    ("globals", ResultSchema::Object(&[])),
                    ("reads", ResultSchema::List(&ResultSchema::Text)),
                    ("writes", ResultSchema::List(&ResultSchema::Text)),
                ]),
            ),
        ])),
    },
];

const fn named(name: &'static str, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Named, default: DefaultValue::None, doc }
}

const fn number(name: &'static str, default: u64, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Number, default: DefaultValue::Whole(default), doc }
}

fn shell_execute(args: &Args) -> Result<Request> {
    let words = args.texts("command");
    if words.is_empty() || words.iter().any(String::is_empty) {
        let cause = if words.is_empty() { "it must contain at least one entry" } else { "no entry may be empty" };
        return Err(Error::argument("command", cause).hint("the first entry is the program, each other an argument"));
    }
    let mut line: Vec<_> = variables(args)?.iter().map(|(name, value)| format!("{name}={}", quote(value))).collect();
    line.push(quoted(words.iter().map(String::as_str)));
    let seconds = args.number("timeout_seconds").clamp(TIMEOUT_SECONDS.0, TIMEOUT_SECONDS.1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 1,000 to 120,000")]
    let timeout_ms = (seconds * 1_000.0) as u64;
    let run = run(Script::Shell(line.join(" ")), args.opt_text("cwd"), timeout_ms);
    Ok(request(Command::Run(Run { stdin: args.opt_text("stdin").unwrap_or_default(), ..run })))
}

/// Returns the variables of `env`, with names in upper case.
fn variables(args: &Args) -> Result<Vec<(String, String)>> {
    let env = args.named("env");
    if env.len() > MAX_VARIABLES {
        return Err(Error::argument("env", format!("it has more than {MAX_VARIABLES} entries")));
    }
    let variable = |(name, value): (String, String)| {
        let name = name.to_uppercase();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match is_name {
            true => Ok((name, value)),
            false => Err(Error::argument("env", format!("`{}` is no name of a variable", name.escape_debug()))),
        }
    };
    env.into_iter().map(variable).collect()
}

fn shell_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let ran = take!(Ran, response);
    let words = context.args.texts("command");
    let cwd = match context.args.opt_text("cwd").unwrap_or_default().trim_matches('/') {
        "" | "." => WORKSPACE.to_owned(),
        below => format!("{WORKSPACE}/{below}"),
    };
    let captures = context.args.flag("capture_output");
    let stream = |text: &str| if captures { text.trim_end().to_owned() } else { "capture disabled".to_owned() };
    let (stdout, stderr) = (stream(&ran.stdout.text), stream(&ran.stderr.text));
    let exit_code = status(&ran);
    let message = match ran.timed_out {
        true => "`shell_execute` exceeded the configured timeout.".to_owned(),
        false => format!("`shell_execute` exited with {exit_code}."),
    };
    let or_empty = |text: &str| if text.is_empty() { "<empty>".to_owned() } else { text.to_owned() };
    let mut lines = vec![
        "Shell command result:".to_owned(),
        format!("Command: {}", words.join(" ")),
        format!("CWD: {cwd}"),
        format!("Exit code: {exit_code}"),
        format!("Timed out: {}", if ran.timed_out { "True" } else { "False" }),
        format!("Duration: {} ms", ran.duration_ms),
        format!("STDOUT:\n{}", or_empty(&stdout)),
        format!("STDERR:\n{}", or_empty(&stderr)),
    ];
    lines.extend(remarks(&ran, &context.names));
    let value = json!({
        "command": words,
        "cwd": cwd,
        "exit_code": exit_code,
        "stdout": stdout,
        "stderr": stderr,
        "duration_ms": ran.duration_ms,
        "timed_out": ran.timed_out,
    });
    let reported = reported(value, message).truncated(ran.is_cut());
    Ok(Rendered { text: lines.join("\n"), ..reported })
}

fn evaluate_answer(context: &CallContext<'_>, response: Result<Response>) -> Result<Rendered> {
    let ran = take!(Ran, response);
    let (stdout, stderr) = match ran.timed_out {
        true => (String::new(), "Execution timed out.".to_owned()),
        false => (shortened(&ran.stdout.text), shortened(&ran.stderr.text)),
    };
    let status = status(&ran);
    let message = match (ran.timed_out, status) {
        (true, _) => "Evaluation timed out.".to_owned(),
        (false, 0) => "Evaluation succeeded (exit code 0).".to_owned(),
        (false, status) => format!("Evaluation failed (exit code {status})."),
    };
    let lines = [&message, &stdout, &stderr].into_iter().map(|text| text.trim_end().to_owned());
    let lines: Vec<_> = lines.filter(|text| !text.is_empty()).chain(remarks(&ran, &context.names)).collect();
    let value = json!({
        "value_repr": Value::Null,
        "stdout": stdout,
        "stderr": stderr,
        "globals": {},
        "reads": [],
        "writes": [],
    });
    let whole = json!({ "success": !ran.timed_out && status == 0, "message": message, "value": value });
    let reported = Rendered::new(&whole, lines.join("\n")).truncated(ran.is_cut());
    match ran.timed_out {
        false => Ok(reported),
        true => Ok(reported.failed(Error::new(Code::LimitExceeded, "the script was ended: its time of 5 s was up"))),
    }
}

/// Shortens an output stream to the maximum of `evaluate_python`.
fn shortened(text: &str) -> String {
    if text.chars().count() <= EVALUATION_CHARS {
        return text.to_owned();
    }
    let start: String = text.chars().take(EVALUATION_CHARS - 3).collect();
    format!("{start}...")
}

/// Returns the exit status as a shell reports it: 128 plus the signal number for a command that a signal ended.
fn status(ran: &Ran) -> i32 {
    const SIGNALS: &[(&str, i32)] = &[
        ("SIGHUP", 1),
        ("SIGINT", 2),
        ("SIGQUIT", 3),
        ("SIGILL", 4),
        ("SIGTRAP", 5),
        ("SIGABRT", 6),
        ("SIGBUS", 7),
        ("SIGFPE", 8),
        ("SIGKILL", 9),
        ("SIGUSR1", 10),
        ("SIGSEGV", 11),
        ("SIGUSR2", 12),
        ("SIGPIPE", 13),
        ("SIGALRM", 14),
        ("SIGTERM", 15),
        ("SIGXCPU", 24),
        ("SIGXFSZ", 25),
        ("SIGSYS", 31),
    ];
    if ran.timed_out {
        return TIMED_OUT;
    }
    let known = SIGNALS.iter().find(|(name, _)| ran.signal.as_deref() == Some(name));
    ran.exit_code.unwrap_or(128 + known.map_or(0, |(_, number)| *number))
}
