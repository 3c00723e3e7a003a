//! `paddock call`: makes one call, and prints its result as one JSON object.

use std::io::{Read, Write};
use std::process::ExitCode;

use paddock::{CallOptions, Outcome};

use super::{progress, status, workspace};

/// Call one tool and print its result as one JSON object
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock call read_file '{\"path\": \"src/main.rs\", \"limit\": 40}'
  paddock call --root ~/project grep '{\"pattern\": \"unsafe\", \"output\": \"count\"}'
  paddock call apply_patch - < arguments.json")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: workspace::Options,

    /// Name of the tool; `paddock tools` lists all
    tool: String,

    /// Its arguments as a JSON object, or `-` to read them from standard input
    #[arg(value_name = "JSON | -", default_value = "{}", hide_default_value = true, allow_hyphen_values = true)]
    arguments: String,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workspace = args.workspace.open()?;
    let arguments = if args.arguments == "-" { read_stdin()? } else { Ok(args.arguments) };
    let outcome = arguments.map_or_else(Outcome::invalid_argument, |arguments| {
        let options = CallOptions::dialect(args.workspace.dialect.as_str());
        progress::with_progress(&options.progress, || workspace.call_with(&args.tool, &arguments, &options))
    });
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&outcome)?)?;
    workspace.end_sessions();
    args.workspace.memory.save(&workspace)?;
    Ok(status(outcome.ok))
}

/// Reads the arguments from standard input. The inner error explains why they are invalid.
fn read_stdin() -> std::io::Result<Result<String, String>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).map_err(|cause| format!("the arguments are not UTF-8: {cause}")))
}
