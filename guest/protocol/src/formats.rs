//! Lists of tools in the formats of the interfaces of models.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::outcome::one_line;
use crate::tools::Tool;

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

impl Format {
    /// Returns the format of this name, or why there is none.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "mcp" => Ok(Self::Mcp),
            "openai" => Ok(Self::Openai),
            "anthropic" => Ok(Self::Anthropic),
            "gemini" => Ok(Self::Gemini),
            _ => Err("the formats are `mcp`, `openai`, `anthropic` and `gemini`".to_owned()),
        }
    }

    /// Returns the tools as a JSON array.
    pub fn render(self, tools: &[Tool]) -> serde_json::Result<String> {
        match self {
            Self::Mcp => serde_json::to_string(&mcp(tools)),
            Self::Openai => serde_json::to_string(&tools.iter().map(Openai::of).collect::<Vec<_>>()),
            Self::Anthropic => serde_json::to_string(&tools.iter().map(Anthropic::of).collect::<Vec<_>>()),
            Self::Gemini => serde_json::to_string(&[Gemini::of(tools)]),
        }
    }
}

/// A tool of the Model Context Protocol.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct McpTool<'t> {
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

pub(crate) fn mcp(tools: &[Tool]) -> Vec<McpTool<'_>> {
    tools.iter().map(mcp_tool).collect()
}

fn mcp_tool(tool: &Tool) -> McpTool<'_> {
    let Tool { name, title, description, input_schema, output_schema, read_only, destructive, idempotent } = tool;
    let annotations = Annotations {
        title,
        read_only_hint: *read_only,
        destructive_hint: *destructive,
        idempotent_hint: *idempotent,
        open_world_hint: false,
    };
    let [input_schema, output_schema] = [input_schema, output_schema].map(|schema| schema_of(schema));
    McpTool { name, title, description, input_schema, output_schema, annotations }
}

fn schema_of(schema: &str) -> Box<RawValue> {
    one_line(schema).unwrap_or_default()
}

/// Returns a name that consists of letters, digits, `_` and `-`, as some interfaces require. Calls accept it too.
fn plain(name: &str) -> String {
    name.replace('.', "_")
}

#[derive(Serialize)]
struct Openai<'t> {
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
    fn of(tool: &'t Tool) -> Self {
        let (name, parameters) = (plain(&tool.name), schema_of(&tool.input_schema));
        Self { r#type: "function", function: Function { name, description: &tool.description, parameters } }
    }
}

#[derive(Serialize)]
struct Anthropic<'t> {
    name: String,
    description: &'t str,
    input_schema: Box<RawValue>,
}

impl<'t> Anthropic<'t> {
    fn of(tool: &'t Tool) -> Self {
        let input_schema = schema_of(&tool.input_schema);
        Self { name: plain(&tool.name), description: &tool.description, input_schema }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Gemini<'t> {
    function_declarations: Vec<Declaration<'t>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'t> {
    name: String,
    description: &'t str,
    parameters_json_schema: Box<RawValue>,
}

impl<'t> Gemini<'t> {
    fn of(tools: &'t [Tool]) -> Self {
        let declaration = |tool: &'t Tool| Declaration {
            name: plain(&tool.name),
            description: &tool.description,
            parameters_json_schema: schema_of(&tool.input_schema),
        };
        Self { function_declarations: tools.iter().map(declaration).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Tool {
        Tool {
            name: "fs.read".to_owned(),
            title: "Read".to_owned(),
            description: "Reads.".to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: r#"{"a":1}"#.to_owned(),
            read_only: true,
            ..Tool::default()
        }
    }

    #[test]
    fn each_format_has_the_members_of_its_interface() {
        let render = |format: &str| Format::named(format).unwrap().render(&[tool()]).unwrap();
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
        assert!(Format::named("xml").unwrap_err().contains("`gemini`"));
    }
}
