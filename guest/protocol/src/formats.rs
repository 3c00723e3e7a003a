//! Lists of tools in the formats of the interfaces of models.

use std::str::FromStr;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::one_line::one_line;

/// A tool as a list shows it.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'t> {
    /// The name by which the tool is called.
    pub name: &'t str,
    /// Title for display to people.
    pub title: &'t str,
    /// Description for the model.
    pub description: &'t str,
    /// JSON Schema of the arguments.
    pub input_schema: &'t str,
    /// JSON Schema of the result.
    pub output_schema: &'t str,
    /// Whether the tool changes nothing.
    pub read_only: bool,
    /// Whether the tool can replace or remove existing content.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: bool,
}

/// A type that describes a tool.
pub trait Describe {
    /// Returns what a list shows of the tool.
    fn listed(&self) -> Listed<'_>;
}

/// Format of a list of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Tools of the Model Context Protocol, as in the result of `tools/list`.
    #[default]
    Mcp,
    /// Tools of chat completions of OpenAI.
    Openai,
    /// Tools of messages of Anthropic.
    Anthropic,
    /// Function declarations of Gemini.
    Gemini,
}

impl FromStr for Format {
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

impl Format {
    /// Returns the tools as a JSON array that people can read.
    ///
    /// # Errors
    ///
    /// If a schema is not JSON.
    pub fn render(self, tools: &[impl Describe]) -> serde_json::Result<String> {
        serde_json::to_string_pretty(&self.list(tools)?)
    }

    /// Returns the tools as a JSON array on one line.
    ///
    /// # Errors
    ///
    /// If a schema is not JSON.
    pub fn render_line(self, tools: &[impl Describe]) -> serde_json::Result<String> {
        serde_json::to_string(&self.list(tools)?)
    }

    /// Returns the tools as an array that is serialized as JSON.
    ///
    /// # Errors
    ///
    /// If a schema is not JSON.
    pub fn list(self, tools: &[impl Describe]) -> serde_json::Result<List<'_>> {
        let tools = tools.iter().map(Describe::listed);
        Ok(match self {
            Self::Mcp => List::Mcp(tools.map(McpTool::of).collect::<Result<_, _>>()?),
            Self::Openai => List::Openai(tools.map(Openai::of).collect::<Result<_, _>>()?),
            Self::Anthropic => List::Anthropic(tools.map(Anthropic::of).collect::<Result<_, _>>()?),
            Self::Gemini => {
                let function_declarations = tools.map(Declaration::of).collect::<Result<_, _>>()?;
                List::Gemini([Gemini { function_declarations }])
            }
        })
    }
}

/// A list of tools in one of the formats.
#[derive(Serialize)]
#[serde(untagged)]
pub enum List<'t> {
    /// [`Format::Mcp`].
    Mcp(Vec<McpTool<'t>>),
    /// [`Format::Openai`].
    Openai(Vec<Openai<'t>>),
    /// [`Format::Anthropic`].
    Anthropic(Vec<Anthropic<'t>>),
    /// [`Format::Gemini`].
    Gemini([Gemini<'t>; 1]),
}

/// A tool of the Model Context Protocol.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool<'t> {
    name: &'t str,
    title: &'t str,
    description: &'t str,
    input_schema: Box<RawValue>,
    output_schema: Box<RawValue>,
    annotations: Annotations<'t>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotations<'t> {
    title: &'t str,
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

impl<'t> McpTool<'t> {
    fn of(tool: Listed<'t>) -> serde_json::Result<Self> {
        let Listed { name, title, description, input_schema, output_schema, read_only, destructive, idempotent } = tool;
        let annotations = Annotations {
            title,
            read_only_hint: read_only,
            destructive_hint: destructive,
            idempotent_hint: idempotent,
            open_world_hint: false,
        };
        let (input_schema, output_schema) = (one_line(input_schema)?, one_line(output_schema)?);
        Ok(Self { name, title, description, input_schema, output_schema, annotations })
    }
}

/// Returns a name that consists of letters, digits, `_` and `-`, as some interfaces require. Calls accept it too.
fn plain(name: &str) -> String {
    name.replace('.', "_")
}

/// A tool of chat completions of OpenAI.
#[derive(Serialize)]
pub struct Openai<'t> {
    r#type: &'static str,
    function: Function<'t>,
}

#[derive(Serialize)]
struct Function<'t> {
    name: String,
    description: &'t str,
    parameters: Box<RawValue>,
}

impl<'t> Openai<'t> {
    fn of(tool: Listed<'t>) -> serde_json::Result<Self> {
        let (name, parameters) = (plain(tool.name), one_line(tool.input_schema)?);
        Ok(Self { r#type: "function", function: Function { name, description: tool.description, parameters } })
    }
}

/// A tool of messages of Anthropic.
#[derive(Serialize)]
pub struct Anthropic<'t> {
    name: String,
    description: &'t str,
    input_schema: Box<RawValue>,
}

impl<'t> Anthropic<'t> {
    fn of(tool: Listed<'t>) -> serde_json::Result<Self> {
        let input_schema = one_line(tool.input_schema)?;
        Ok(Self { name: plain(tool.name), description: tool.description, input_schema })
    }
}

/// Function declarations of Gemini.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gemini<'t> {
    function_declarations: Vec<Declaration<'t>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'t> {
    name: String,
    description: &'t str,
    parameters_json_schema: Box<RawValue>,
}

impl<'t> Declaration<'t> {
    fn of(tool: Listed<'t>) -> serde_json::Result<Self> {
        let parameters_json_schema = one_line(tool.input_schema)?;
        Ok(Self { name: plain(tool.name), description: tool.description, parameters_json_schema })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tool with this schema of its arguments.
    struct Described(&'static str);

    impl Describe for Described {
        fn listed(&self) -> Listed<'_> {
            Listed {
                name: "fs.read",
                title: "Read",
                description: "Reads.",
                input_schema: self.0,
                output_schema: r#"{"a":1}"#,
                read_only: true,
                destructive: false,
                idempotent: false,
            }
        }
    }

    #[test]
    fn each_format_has_the_members_of_its_interface() {
        let tools = [Described("{\"type\":\n\"object\"}")];
        let render = |format: &str| {
            let format: Format = format.parse().unwrap();
            format.render_line(&tools).unwrap()
        };
        assert_eq!(
            render("mcp"),
            r#"[{"name":"fs.read","title":"Read","description":"Reads.","inputSchema":{"type":"object"},"outputSchema":{"a":1},"annotations":{"title":"Read","readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}}]"#
        );
        assert_eq!(
            render("openai"),
            r#"[{"type":"function","function":{"name":"fs_read","description":"Reads.","parameters":{"type":"object"}}}]"#
        );
        assert_eq!(
            render("anthropic"),
            r#"[{"name":"fs_read","description":"Reads.","input_schema":{"type":"object"}}]"#
        );
        assert_eq!(
            render("gemini"),
            r#"[{"functionDeclarations":[{"name":"fs_read","description":"Reads.","parametersJsonSchema":{"type":"object"}}]}]"#
        );
        assert!("xml".parse::<Format>().unwrap_err().contains("`gemini`"));
        assert!(Format::Mcp.render(&tools).unwrap().contains("\n  {\n    \"name\": \"fs.read\""));
        assert!(Format::Mcp.list(&[Described("{")]).is_err());
    }
}
