//! Conversion of tools and outcomes to the types of the protocol.

use std::sync::Arc;

use rmcp::model::{self, CallToolResult, ContentBlock, ToolAnnotations};
use serde_json::Value;

use super::splice::Placeholders;
use crate::Outcome;
use crate::types::Tool;

/// How the answer to a call has the result as JSON, beside its text.
pub(super) enum StructuredContent {
    /// The transport replaces a placeholder.
    Placeholder(Placeholders),
    /// It is parsed.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    Parsed,
    /// The answer has the text alone, and the list of tools no output schemas.
    None,
}

impl StructuredContent {
    /// Returns `None` if answers have text alone.
    pub(super) fn unless(self, is_text_only: bool) -> Self {
        if is_text_only { Self::None } else { self }
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    fn of(&self, json: Box<str>, is_cancelled: impl Fn() -> bool + Send + 'static) -> Option<Value> {
        match self {
            Self::Placeholder(placeholders) => Some(placeholders.put(json.into_string(), is_cancelled)),
            #[cfg(all(target_os = "linux", feature = "serve"))]
            Self::Parsed => serde_json::from_str(&json).ok(),
            Self::None => None,
        }
    }
}

/// Converts a tool to an entry of `tools/list`.
pub(super) fn tool(tool: Tool) -> serde_json::Result<model::Tool> {
    let input: model::JsonObject = serde_json::from_str(&tool.input_schema)?;
    let hints = ToolAnnotations::with_title(tool.annotations.title.clone())
        .read_only(tool.annotations.read_only)
        .destructive(tool.annotations.destructive)
        .idempotent(tool.annotations.idempotent)
        .open_world(false);
    let mut mcp_tool = model::Tool::new(tool.name, tool.description, Arc::new(input)).with_annotations(hints);
    mcp_tool.title = Some(tool.annotations.title);
    mcp_tool.output_schema = Some(Arc::new(serde_json::from_str(&tool.output_schema)?));
    Ok(mcp_tool)
}

/// Converts the outcome of a call. A failure has no structured content, because that would have to match the output
/// schema.
pub(super) fn result(
    outcome: Outcome,
    structured: &StructuredContent,
    is_cancelled: impl Fn() -> bool + Send + 'static,
) -> CallToolResult {
    let text = match blocks(&outcome) {
        Some(blocks) => blocks,
        None => vec![ContentBlock::text(outcome.text)],
    };
    if outcome.ok {
        let mut result = CallToolResult::success(text);
        result.structured_content = structured.of(outcome.result.into(), is_cancelled);
        result
    } else {
        CallToolResult::error(text)
    }
}

/// Returns the content blocks (images, sounds, resources) of a result without a text of its own.
fn blocks(outcome: &Outcome) -> Option<Vec<ContentBlock>> {
    #[derive(serde::Deserialize)]
    struct ResultWithContent {
        content: Vec<ContentBlock>,
    }
    if !outcome.ok || !outcome.text.is_empty() {
        return None;
    }
    serde_json::from_str::<ResultWithContent>(outcome.result.get()).ok().map(|result| result.content)
}
