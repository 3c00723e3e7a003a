//! `paddock tools`: prints the tools in the format of a model's interface.

use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use paddock::types::{Tool, ToolError};
use paddock::{Error, Outcome, Policy, ToolFormat, Workspace};

use super::status;

/// Print the tools of a dialect, as JSON for a model's interface
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock tools
  paddock tools --dialect codex --format openai
  paddock tools --dialect anthropic,paddock:grep,glob,delete,move,restore")]
pub(crate) struct Args {
    /// Dialect of the tools, or a list such as `anthropic,paddock:grep,glob`
    #[arg(long, value_name = "LIST", default_value = "paddock")]
    dialect: String,

    /// Include the tools that run commands, as if the policy's `commands.enabled` were set
    #[arg(long)]
    commands: bool,

    /// Interface that defines the format
    #[arg(long, value_enum, default_value_t = Format::Mcp)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Mcp,
    Openai,
    Anthropic,
    Gemini,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut stdout = std::io::stdout();
    match described(args)? {
        Ok(tools) => {
            writeln!(stdout, "{}", ToolFormat::from(args.format).render(&tools)?)?;
            Ok(status(true))
        }
        Err(error) => {
            writeln!(stdout, "{}", serde_json::to_string(&Outcome::from(error))?)?;
            Ok(status(false))
        }
    }
}

fn described(args: &Args) -> Result<Result<Vec<Tool>, ToolError>, Error> {
    let mut policy = Policy::default();
    policy.commands.enabled = args.commands;
    Ok(Workspace::memory(policy)?.tools(&args.dialect))
}

impl From<Format> for ToolFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Mcp => Self::Mcp,
            Format::Openai => Self::Openai,
            Format::Anthropic => Self::Anthropic,
            Format::Gemini => Self::Gemini,
        }
    }
}
