//! Clients that give the model the result as JSON (`structuredContent`) instead of the text, which is written for models.
//! The model then sees `\n` in place of line breaks, and no line numbers.

/// Names of these clients, as they introduce themselves, each with its source.
const WITH_JSON_FOR_MODELS: [&str; 3] = [
    // https://github.com/anthropics/claude-code/issues/79944
    "claude-code",
    // https://github.com/openai/codex/pull/2594
    "codex-mcp-client",
    // https://github.com/anomalyco/opencode/pull/32074
    "opencode",
];

/// Returns whether the client of this name gives the model the result as JSON if an answer has it. A proxy may add to
/// the name in parentheses: `claude-code (via mcp-remote 0.1.18)`.
pub fn gives_model_json(name: &str) -> bool {
    let name = name.split_once(" (").map_or(name, |(name, _)| name);
    WITH_JSON_FOR_MODELS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::gives_model_json;

    #[test]
    fn clients_are_known_by_their_names() {
        assert!(gives_model_json("claude-code") && gives_model_json("claude-code (via mcp-remote 0.1.18)"));
        assert!(!gives_model_json("claude-code-proxy") && !gives_model_json("claude-ai") && !gives_model_json(""));
    }
}
