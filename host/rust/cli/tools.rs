//! `paddock tools`: prints the tools in the format of a model's interface.

use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use paddock::types::{Tool, ToolError};
use paddock::{Error, Outcome, Policy, Workspace};
use serde::Serialize;
use serde_json::value::RawValue;

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
            let tools = tools.iter().map(Schemas::of).collect::<serde_json::Result<Vec<_>>>()?;
            writeln!(stdout, "{}", args.format.render(&tools)?)?;
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

/// A tool with its schemas as JSON.
struct Schemas<'a> {
    tool: &'a Tool,
    input: &'a RawValue,
    output: &'a RawValue,
}

impl<'a> Schemas<'a> {
    fn of(tool: &'a Tool) -> serde_json::Result<Self> {
        let (input, output) = (serde_json::from_str(&tool.input_schema)?, serde_json::from_str(&tool.output_schema)?);
        Ok(Self { tool, input, output })
    }
}

impl Format {
    fn render(self, tools: &[Schemas<'_>]) -> serde_json::Result<String> {
        match self {
            Self::Mcp => serde_json::to_string_pretty(&tools.iter().map(Mcp::from).collect::<Vec<_>>()),
            Self::Openai => serde_json::to_string_pretty(&tools.iter().map(Openai::from).collect::<Vec<_>>()),
            Self::Anthropic => serde_json::to_string_pretty(&tools.iter().map(Anthropic::from).collect::<Vec<_>>()),
            Self::Gemini => serde_json::to_string_pretty(&[Gemini::from(tools)]),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Mcp<'a> {
    name: &'a str,
    title: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
    output_schema: &'a RawValue,
    annotations: McpAnnotations<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct McpAnnotations<'a> {
    title: &'a str,
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

impl<'a> From<&Schemas<'a>> for Mcp<'a> {
    fn from(schemas: &Schemas<'a>) -> Self {
        let hints = &schemas.tool.annotations;
        Self {
            name: &schemas.tool.name,
            title: &hints.title,
            description: &schemas.tool.description,
            input_schema: schemas.input,
            output_schema: schemas.output,
            annotations: McpAnnotations {
                title: &hints.title,
                read_only_hint: hints.read_only,
                destructive_hint: hints.destructive,
                idempotent_hint: hints.idempotent,
                open_world_hint: false,
            },
        }
    }
}

/// Returns a name that consists of letters, digits, `_` and `-`, as some interfaces require. Calls accept it too.
fn plain(name: &str) -> String {
    name.replace('.', "_")
}

#[derive(Serialize)]
struct Openai<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: String,
    description: &'a str,
    parameters: &'a RawValue,
}

impl<'a> From<&Schemas<'a>> for Openai<'a> {
    fn from(schemas: &Schemas<'a>) -> Self {
        let Schemas { tool, input, .. } = schemas;
        Self {
            r#type: "function",
            function: Function { name: plain(&tool.name), description: &tool.description, parameters: input },
        }
    }
}

#[derive(Serialize)]
struct Anthropic<'a> {
    name: String,
    description: &'a str,
    input_schema: &'a RawValue,
}

impl<'a> From<&Schemas<'a>> for Anthropic<'a> {
    fn from(schemas: &Schemas<'a>) -> Self {
        let Schemas { tool, input, .. } = schemas;
        Self { name: plain(&tool.name), description: &tool.description, input_schema: input }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Gemini<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: String,
    description: &'a str,
    parameters_json_schema: &'a RawValue,
}

impl<'a> From<&[Schemas<'a>]> for Gemini<'a> {
    fn from(tools: &[Schemas<'a>]) -> Self {
        let declaration = |Schemas { tool, input, .. }: &Schemas<'a>| Declaration {
            name: plain(&tool.name),
            description: &tool.description,
            parameters_json_schema: input,
        };
        Self { function_declarations: tools.iter().map(declaration).collect() }
    }
}
