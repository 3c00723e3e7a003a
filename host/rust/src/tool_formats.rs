//! The tools in the formats of models' interfaces.

use std::str::FromStr;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::types::Tool;

/// Format of a list of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolFormat {
    /// The result of `tools/list` of the Model Context Protocol.
    #[default]
    Mcp,
    /// Tools of chat completions of OpenAI.
    Openai,
    /// Tools of messages of Anthropic.
    Anthropic,
    /// Function declarations of Gemini.
    Gemini,
}

impl FromStr for ToolFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "mcp" => Ok(Self::Mcp),
            "openai" => Ok(Self::Openai),
            "anthropic" => Ok(Self::Anthropic),
            "gemini" => Ok(Self::Gemini),
            _ => Err("the formats are `mcp`, `openai`, `anthropic` and `gemini`".to_owned()),
        }
    }
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

impl ToolFormat {
    /// Returns the tools in this format, as JSON.
    ///
    /// # Errors
    ///
    /// If a schema is not JSON.
    pub fn render(self, tools: &[Tool]) -> serde_json::Result<String> {
        let schemas = tools.iter().map(Schemas::of).collect::<serde_json::Result<Vec<_>>>()?;
        let tools = schemas.as_slice();
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
