//! Requests approval of a call from the person at the terminal.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};

use paddock::types::Plan;
use paddock::{Builder, Decision, terminal};

/// Sets an approver that prompts at the terminal, if there is one.
pub(crate) fn at_terminal(builder: Builder) -> Builder {
    if io::stderr().is_terminal() && terminal().is_ok() {
        return builder.approver(|plan| ask(plan).unwrap_or_else(|cause| Decision::Refuse(cause.to_string())));
    }
    builder
}

/// Opens the terminal for input. Standard input may contain the call's arguments instead.
fn terminal() -> io::Result<File> {
    File::open("/dev/tty")
}

fn ask(plan: &Plan) -> io::Result<Decision> {
    let mut stderr = io::stderr().lock();
    writeln!(stderr, "A tool call needs your approval:\n\n{}", terminal::render_plan(&plan.summary))?;
    write!(stderr, "Do this? [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    BufReader::new(terminal()?).read_line(&mut answer)?;
    Ok(match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Decision::Approve,
        _ => Decision::Refuse(String::new()),
    })
}
