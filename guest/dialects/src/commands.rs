//! Rendering of commands for all dialects: output, exit status, changes and refused accesses.

use paddock_types::error::{Result, Term, Vocabulary, printable};
use paddock_types::request::{Command, Input, Request, Run, Script, Start};
use paddock_types::response::{Captured, ChangeKind, Ran, Sessions, Unread};

use crate::args::Args;
use crate::dialect::Names;
use crate::param::{DefaultValue, Param, optional, whole};

/// Maximum number of changes that a text names.
const MAX_NAMED: usize = 20;
/// Maximum number of refused paths with the same cause that a text names.
const MAX_REFUSED: usize = 3;
/// Default columns and rows of a terminal.
pub const SIZE: (u16, u16) = (80, 24);
/// Maximum time for which a call collects output, in milliseconds.
pub const MAX_YIELD_MS: u64 = 600_000;

/// Working directory of the command.
pub const WORKDIR: Param = optional("workdir", "Where to run it (the workspace)");
/// Time for which a call collects output.
pub const YIELD: Param =
    whole("yield_time_ms", 0, MAX_YIELD_MS, DefaultValue::Whole(250), "Milliseconds to collect output");
/// Maximum of `max_output_tokens`.
pub const MAX_OUTPUT: u64 = 100_000;
/// Maximum output of a call.
pub const MAX_OUTPUT_PARAM: Param =
    whole("max_output_tokens", 1, MAX_OUTPUT, DefaultValue::Whole(8_000), "Most output");

/// Wraps a command in a request.
pub fn request(command: Command) -> Request {
    Request::Command(command)
}

/// Returns the start of a command in a session, with a terminal of the default size.
pub fn start(command: String, workdir: Option<String>, yield_ms: u64, max_output_tokens: u64) -> Start {
    let workdir = or_workspace(workdir);
    Start { command, workdir, terminal: true, input: true, size: SIZE, yield_ms, max_output_tokens }
}

/// Returns input for a session that neither closes its standard input nor resizes its terminal.
pub fn write(args: &Args, chars: String, yield_ms: u64) -> Input {
    let (session, max_output_tokens) = (args.whole32("session_id"), args.whole("max_output_tokens"));
    Input { session, chars, eof: false, size: None, yield_ms, max_output_tokens, offset: None }
}

/// Returns the request of a `shell` tool, which waits for the end of the command.
pub fn shell(args: &Args) -> Result<Request> {
    let script = Script::Shell(args.text("command"));
    let run = run(script, args.opt_text("workdir"), args.whole("timeout_ms"));
    Ok(request(Command::Run(Run { max_output_tokens: args.opt_whole("max_output_tokens"), ..run })))
}

/// Returns a command whose end the call waits for.
pub fn run(script: Script, workdir: Option<String>, timeout_ms: u64) -> Run {
    Run { script, workdir: or_workspace(workdir), stdin: String::new(), timeout_ms, max_output_tokens: None }
}

/// Returns the working directory, or the workspace if none is given.
fn or_workspace(workdir: Option<String>) -> String {
    workdir.filter(|workdir| !workdir.is_empty()).unwrap_or_else(|| ".".to_owned())
}

/// Returns a shell command line that consists of exactly these words.
pub fn quoted<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for the shell.
///
/// `shlex` is not linked in the component, and would be for this function only.
pub fn quote(word: &str) -> String {
    let is_bare =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '%' | '+' | ',');
    match !word.is_empty() && word.chars().all(is_bare) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Renders the complete result of a command for the model.
pub fn text(ran: &Ran, names: &Names) -> String {
    let mut text = output(ran);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let mut lines = vec![end(ran)];
    lines.extend(remarks(ran, names));
    text.push_str(&lines.join("\n"));
    text
}

/// Renders the output, with standard error below a heading of its own.
pub fn output(ran: &Ran) -> String {
    let mut text = ran.stdout.text.clone();
    if !ran.stderr.text.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str("[stderr]\n");
        text.push_str(&ran.stderr.text);
    }
    text
}

/// Renders the state or exit status in one line.
fn end(ran: &Ran) -> String {
    let time = seconds(ran.duration_ms);
    match (ran.session, ran.timed_out, ran.exit_code, &ran.signal) {
        (Some(session), ..) => format!("[session {session} runs, after {time} s]"),
        (None, true, ..) => format!("[its time was up: ended after {time} s]"),
        (None, false, Some(code), _) => format!("[exit code {code} after {time} s]"),
        (None, false, None, Some(signal)) => format!("[ended by {signal} after {time} s]"),
        (None, false, None, None) => format!("[ended after {time} s]"),
    }
}

/// Renders remarks beyond output and exit status, one line each.
pub fn remarks(ran: &Ran, names: &Names) -> Vec<String> {
    let mut lines = Vec::new();
    let mut next = ran.unread.as_ref().zip(names.name(Term::OutputTool));
    for (name, captured) in [("output", &ran.stdout), ("standard error", &ran.stderr)] {
        if captured.truncated {
            let Captured { omitted, bytes, .. } = captured;
            let next = next.take().map_or_else(String::new, |(Unread { session, offset }, tool)| {
                format!("; `{tool}` with `session_id` {session} and `offset` {offset} continues")
            });
            lines.push(format!("[{omitted} of {bytes} bytes of {name} are left out{next}]"));
        }
    }
    lines.extend(changes(ran));
    if ran.ignored > 0 {
        lines.push(format!("[{} changed file(s) that ignore rules hide or Git keeps are in no backup]", ran.ignored));
    }
    refusals(ran, &mut lines);
    // Only a setting of the operator disables confinement, so a reader of the result must be told.
    if ran.confinement.starts_with("none") {
        lines.push("[it ran unconfined]".to_owned());
    }
    lines.extend(ran.notes.iter().map(|note| format!("[{note}]")));
    lines
}

/// Adds one line for each cause of refusals.
fn refusals(ran: &Ran, lines: &mut Vec<String>) {
    for (at, first) in ran.refused.iter().enumerate() {
        if ran.refused.iter().take(at).any(|earlier| earlier.cause == first.cause) {
            continue;
        }
        let (mut count, mut paths) = (0, String::new());
        for refused in ran.refused.iter().filter(|refused| refused.cause == first.cause) {
            count += 1;
            if count <= MAX_REFUSED {
                let comma = if count == 1 { "" } else { ", " };
                paths.push_str(&format!("{comma}`{}`", printable(&refused.path)));
            }
        }
        let of_paths = if count == 1 { String::new() } else { format!("{count} paths: ") };
        let more = if count > MAX_REFUSED { format!(" and {} more", count - MAX_REFUSED) } else { String::new() };
        lines.push(format!("[refused access to {of_paths}{paths}{more}: {}]", first.cause));
    }
}

fn changes(ran: &Ran) -> Option<String> {
    if ran.total_changes == 0 {
        return None;
    }
    let named = ran.changes.iter().take(MAX_NAMED);
    let lines: Vec<_> = named.map(|change| format!("{} {}", word(change.kind), printable(&change.path))).collect();
    let rest = ran.total_changes.saturating_sub(lines.len() as u64);
    let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
    let backup = ran.backup.as_ref().map(|backup| format!("; backup {backup} undoes it")).unwrap_or_default();
    Some(format!("[{}{more}{backup}]", lines.join(", ")))
}

/// Returns the verb for a kind of change.
pub fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Moved => "moved",
    }
}

/// Renders the sessions, one line each.
pub fn sessions(sessions: &Sessions) -> String {
    if sessions.sessions.is_empty() {
        return "no session".to_owned();
    }
    let lines = sessions.sessions.iter().map(|session| {
        let state = if session.running { "runs" } else { "ended" };
        format!("{}\t{state}\t{} s\t{}", session.id, seconds(session.age_ms), printable(&session.command))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats milliseconds as seconds with one decimal.
fn seconds(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}
