//! Requests approval of a call from the person at the terminal.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};

use paddock::types::Plan;
use paddock::{Builder, Decision, terminal};

/// Sets an approver that prompts at the terminal, if there is one.
pub(crate) fn at_terminal(builder: Builder) -> Builder {
    if io::stderr().is_terminal() && terminal().is_ok() {
        return builder.approver(|plan| prompt(plan).unwrap_or_else(|cause| Decision::Refuse(cause.to_string())));
    }
    builder
}

/// Opens the terminal for input. Standard input may contain the call's arguments instead.
fn terminal() -> io::Result<File> {
    File::open("/dev/tty")
}

fn prompt(plan: &Plan) -> io::Result<Decision> {
    converse(plan, &mut BufReader::new(terminal()?), &mut io::stderr().lock())
}

/// Shows the plan and reads answers until one of them decides.
fn converse(plan: &Plan, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<Decision> {
    write!(output, "A tool call needs your approval:\n\n{}", terminal::render_plan(plan))?;
    let mut rest = terminal::render_rest_of_plan(plan);
    loop {
        let answers = if rest.is_some() { "[y/N, v to view the lines that are not shown]" } else { "[y/N]" };
        write!(output, "\nDo this? {answers} ")?;
        output.flush()?;
        let mut answer = String::new();
        input.read_line(&mut answer)?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(Decision::Approve),
            "v" | "view" if rest.is_some() => output.write_all(rest.take().unwrap_or_default().as_bytes())?,
            _ => return Ok(Decision::Refuse(String::new())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(plan: &Plan, typed: &str) -> (Decision, String) {
        let mut output = Vec::new();
        let decision = converse(plan, &mut typed.as_bytes(), &mut output).unwrap();
        (decision, String::from_utf8(output).unwrap())
    }

    fn plan(summary: String) -> Plan {
        Plan { digest: String::new(), summary, omitted_bytes: 0, paths: Vec::new() }
    }

    #[test]
    fn the_rest_of_a_long_plan_can_be_viewed() {
        let long = plan(format!("{}+evil\u{1b}[2J\n+end\n", "+line\n".repeat(200)));
        let (decision, output) = answer(&long, "v\ny\n");
        let (first, rest) = output.split_once("Do this? [y/N, v to view the lines that are not shown] ").unwrap();
        assert!(first.ends_with("  … 2 more lines are not shown\n\n") && !first.contains("evil"), "{first}");
        assert_eq!(rest, "  | +evil\\u{1b}[2J\n  | +end\n\nDo this? [y/N] ");
        assert_eq!(decision, Decision::Approve);
        // Neither a second `v` nor the end of the input approves.
        for typed in ["v\nv\n", "v\n", "", "n\n"] {
            assert_eq!(answer(&long, typed).0, Decision::Refuse(String::new()), "{typed:?}");
        }
    }
}
