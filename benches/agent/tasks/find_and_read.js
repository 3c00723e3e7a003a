// Find where an error is made, and read the function that makes it.
export default {
  facts: ["src/entry.rs", "pub fn check(&self) -> Result<()> {", "if sum.is_zero() {"],
  paddock: [
    { tool: "grep", args: { pattern: "Error::Unbalanced" }, take: { file: /(src\/\w+\.rs)/, line: /src\/\w+\.rs[:\n\s]+(\d+)/ } },
    { tool: "read_file", args: { path: "{file}", mode: "function", anchor_line: "{#line}" }, otherwise: [{ tool: "read_file", args: { path: "{file}" } }] },
  ],
  codex: [
    { tool: "grep_files", args: { pattern: "Error::Unbalanced" }, take: { file: /(\S*src\/\w+\.rs)/ } },
    { tool: "read_file", args: { file_path: "{file}" }, otherwise: [{ tool: "read_file", args: { file_path: "{root}/{file}" } }] },
  ],
  anthropic: [
    { tool: "grep", args: { pattern: "Error::Unbalanced" }, take: { file: /(src\/\w+\.rs)/ } },
    { tool: "str_replace_based_edit_tool", args: { command: "view", path: "{file}", view_range: [30, 43] } },
  ],
  reference: [
    { tool: "search_files", args: { path: "{root}/src", pattern: "**/*.rs" } },
    { tool: "read_multiple_files", args: { paths: ["account", "amount", "book", "entry", "error"].map((name) => `{root}/src/${name}.rs`) } },
  ],
};
