//! Commands under their own names.

use paddock_types::error::{Error, Result};
use paddock_types::request::{Command, Input, Request, Run, Script, Start};

use crate::args::Args;
use crate::commands::{MAX_OUTPUT, MAX_OUTPUT_PARAM, MAX_YIELD_MS, SIZE, WORKDIR, request, run, shell, start, write};
use crate::dialect::spec::{Output, ToolSpec, ToolTraits};
use crate::paddock::answer;
use crate::param::{DefaultValue, MAX, Param, flag, required, text, texts, whole};
use crate::schema::generated;

/// Maximum value of `timeout_ms`; the policy may set a lower limit.
const MAX_TIME_MS: u64 = 86_400_000;

const TIMEOUT: Param =
    whole("timeout_ms", 1, MAX_TIME_MS, DefaultValue::Whole(60_000), "Milliseconds after which it is ended");
const SESSION: Param = whole("session_id", 0, u32::MAX as u64, DefaultValue::Required, "From exec_command");
const COLUMNS: Param = whole("columns", 1, 1_000, DefaultValue::None, "Of the terminal (80)");
const ROWS: Param = whole("rows", 1, 1_000, DefaultValue::None, "Of the terminal (24)");

/// Tools that run commands.
pub const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "shell",
        title: "Run a command",
        description: "Run a command line by the shell and wait for its end. It sees what the file tools see, and no more. Says what it changed.",
        params: &[
            COMMAND,
            WORKDIR,
            TIMEOUT,
            whole("max_output_tokens", 1, MAX_OUTPUT, DefaultValue::None, "Most of each stream (8 KB, 200 lines)"),
        ],
        traits: ToolTraits::Runs { changes: true },
        request: shell,
        answer,
        output: Output::Generated(generated!("Ran")),
    },
    ToolSpec {
        name: "exec_command",
        title: "Start a command",
        description: "Start a command; returns its output within yield_time_ms, and a session_id for write_stdin if it still runs.",
        params: &[
            COMMAND,
            WORKDIR,
            flag("terminal", true, "Give it a terminal; else pipes"),
            COLUMNS,
            ROWS,
            whole("yield_time_ms", 0, MAX_YIELD_MS, DefaultValue::Whole(10_000), "Milliseconds to collect output"),
            MAX_OUTPUT_PARAM,
        ],
        traits: ToolTraits::Runs { changes: true },
        request: exec_command,
        answer,
        output: Output::Generated(generated!("Ran")),
    },
    ToolSpec {
        name: "write_stdin",
        title: "Write to a command",
        description: "Write to a session's command; returns its new output. Without chars, only waits. \\u0003 is Ctrl-C.",
        params: &[
            SESSION,
            text("chars", "", "What to write; a line ends in \\n"),
            flag("eof", false, "End its input after that"),
            COLUMNS,
            ROWS,
            whole(
                "yield_time_ms",
                0,
                MAX_YIELD_MS,
                DefaultValue::None,
                "Milliseconds to collect output (250; 5,000 without chars)",
            ),
            MAX_OUTPUT_PARAM,
            whole("offset", 0, MAX, DefaultValue::None, "Only reads left-out output, from there"),
        ],
        traits: ToolTraits::Runs { changes: true },
        request: write_stdin,
        answer,
        output: Output::Generated(generated!("Ran")),
    },
    ToolSpec {
        name: "list_sessions",
        title: "List sessions",
        description: "The sessions of exec_command.",
        params: &[],
        traits: ToolTraits::Runs { changes: false },
        request: |_| Ok(request(Command::Sessions)),
        answer,
        output: Output::Generated(generated!("Sessions")),
    },
    ToolSpec {
        name: "kill_session",
        title: "End a session",
        description: "End a session with all its processes.",
        params: &[SESSION],
        traits: ToolTraits::Runs { changes: true },
        request: |args| Ok(request(Command::Kill(args.whole32("session_id")))),
        answer,
        output: Output::Generated(generated!("Ran")),
    },
    ToolSpec {
        name: "run_program",
        title: "Run a WASI program",
        description: "Run a WASI program that the policy names, and wait for its end.",
        params: &[
            required("name", "The program"),
            texts("args", DefaultValue::None, "Its arguments"),
            text("stdin", "", "Its standard input"),
            WORKDIR,
            TIMEOUT,
        ],
        traits: ToolTraits::Runs { changes: true },
        request: |args| {
            let script = Script::Program(args.text("name"), args.texts("args"));
            let run = run(script, args.opt_text("workdir"), args.whole("timeout_ms"));
            Ok(request(Command::Run(Run { stdin: args.text("stdin"), ..run })))
        },
        answer,
        output: Output::Generated(generated!("Ran")),
    },
];

const COMMAND: Param = required("command", "The command line").or(&["cmd"]);

fn exec_command(args: &Args) -> Result<Request> {
    let size = (args.opt_whole16("columns").unwrap_or(SIZE.0), args.opt_whole16("rows").unwrap_or(SIZE.1));
    let (yield_ms, tokens) = (args.whole("yield_time_ms"), args.whole("max_output_tokens"));
    let start = start(args.text("command"), args.opt_text("workdir"), yield_ms, tokens);
    Ok(request(Command::Start(Start { terminal: args.flag("terminal"), size, ..start })))
}

fn write_stdin(args: &Args) -> Result<Request> {
    let size = match (args.opt_whole16("columns"), args.opt_whole16("rows")) {
        (Some(columns), Some(rows)) => Some((columns, rows)),
        (None, None) => None,
        (Some(_), None) => return Err(Error::argument("columns", "it is given without `rows`").hint("give both")),
        (None, Some(_)) => return Err(Error::argument("rows", "it is given without `columns`").hint("give both")),
    };
    let chars = args.text("chars");
    let yield_ms = args.opt_whole("yield_time_ms").unwrap_or(if chars.is_empty() { 5_000 } else { 250 });
    let (offset, eof) = (args.opt_whole("offset"), args.flag("eof"));
    if offset.is_some() && (!chars.is_empty() || eof || size.is_some()) {
        return Err(Error::argument("offset", "with it, nothing is written").hint("read and write in two calls"));
    }
    let input = write(args, chars, yield_ms);
    Ok(request(Command::Write(Input { eof, size, offset, ..input })))
}
