//! `paddock policy`: shows the policy in force, and the source of each setting.

use std::io::{self, Write};
use std::process::ExitCode;

use paddock::{Outcome, Setting};
use serde_json::{Map, Value, json};

use super::{status, workspace};

/// Show the policy in force, its JSON Schema or its documentation
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock policy show
  paddock policy show --root ~/project --set limits.max_lines=500 --json
  paddock policy schema > policy.schema.json")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Show(Box<Show>),
    /// Print the JSON Schema of a policy file
    Schema,
    /// Print every setting as a Markdown table
    Table,
}

/// Print every setting, its value and its source
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock policy show --root ~/project
  paddock policy show --dialect dotnet-prompt --json")]
struct Show {
    #[command(flatten)]
    workspace: workspace::Options,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Show(args) => show(args),
        Command::Schema => {
            writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&paddock::policy_schema())?)?;
            Ok(status(true))
        }
        Command::Table => {
            write!(io::stdout(), "{}", paddock::policy_table())?;
            Ok(status(true))
        }
    }
}

fn show(args: &Show) -> anyhow::Result<ExitCode> {
    let mut stdout = io::stdout().lock();
    let dialect = &args.workspace.dialect;
    // A misspelt dialect is an error: its settings would apply to no call.
    if let Err(error) = paddock::tools(dialect)
        && paddock_policy::of_dialect(dialect).is_none()
    {
        writeln!(stdout, "{}", serde_json::to_string(&Outcome::from(error))?)?;
        return Ok(status(false));
    }
    let settings = args.workspace.layers()?.effective(dialect)?;
    if args.json {
        let member = |setting: Setting| (setting.name, json!({ "value": setting.value, "from": setting.origins }));
        let members: Map<_, _> = settings.into_iter().map(member).collect();
        writeln!(stdout, "{}", serde_json::to_string_pretty(&Value::Object(members))?)?;
        return Ok(status(true));
    }
    let rows: Vec<_> =
        settings.into_iter().map(|setting| (setting.name, text(&setting.value), setting.origins)).collect();
    let width = |of: fn(&(String, String, Vec<String>)) -> &str| {
        rows.iter().map(|row| of(row).chars().count()).filter(|width| *width <= 40).max().unwrap_or(0)
    };
    let (names, values) = (width(|row| &row.0), width(|row| &row.1));
    for (name, value, origins) in &rows {
        writeln!(stdout, "{name:names$}  {value:values$}  {}", origins.join(", "))?;
    }
    Ok(status(true))
}

/// Renders a value as a policy file contains it. Control characters are escaped, since the workspace's own file can
/// set the value.
fn text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars()
        .flat_map(|c| if c.is_ascii_graphic() || c == ' ' { vec![c] } else { c.escape_debug().collect() })
        .collect()
}
