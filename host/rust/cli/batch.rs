//! `paddock batch`: reads one call per line, and prints one result per line.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use paddock::{CallOptions, Outcome, Workspace};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{approval_prompt, progress, status, workspace};

/// Make the calls on standard input, one JSON object per line, and print one result per line
#[derive(clap::Args)]
#[command(after_help = "\
Each line is {\"tool\": NAME, \"arguments\": {...}, \"dialect\": LIST}; a dialect there goes before --dialect.
The exit status is 1 where any call failed.

Example:
  printf '%s\\n' '{\"tool\": \"stat\", \"arguments\": {\"path\": \"README.md\"}}' | paddock batch")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: workspace::Options,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    tool: String,
    arguments: Option<Box<RawValue>>,
    dialect: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let builder = approval_prompt::at_terminal(args.workspace.builder()?.index_in_background());
    let workspace = args.workspace.build(builder)?;
    let mut stdout = std::io::stdout().lock();
    let mut ok = true;
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let outcome = call(&workspace, &line, &args.workspace.dialect);
        ok &= outcome.ok;
        writeln!(stdout, "{}", serde_json::to_string(&outcome)?)?;
        // The caller may wait for this result before it writes the next line.
        stdout.flush()?;
    }
    workspace.end_sessions();
    args.workspace.memory.save(&workspace)?;
    Ok(status(ok))
}

fn call(workspace: &Workspace, line: &[u8], dialect: &str) -> Outcome {
    match serde_json::from_slice::<Line>(line) {
        Ok(line) => {
            let options = CallOptions::dialect(line.dialect.as_deref().unwrap_or(dialect));
            let arguments = line.arguments.as_deref().map_or("{}", RawValue::get);
            progress::with_progress(&options.progress, || workspace.call_with(&line.tool, arguments, &options))
        }
        Err(cause) => Outcome::invalid_argument(format!("a line is {{\"tool\", \"arguments\", \"dialect\"}}: {cause}")),
    }
}
