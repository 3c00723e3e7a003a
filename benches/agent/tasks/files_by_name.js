// All Rust sources by name.
export default {
  facts: [/export\/json\.rs/, /\bparse\.rs[^]*\bparse\.rs/],
  paddock: [{ tool: "glob", args: { pattern: "*.rs" } }],
  codex: [{ tool: "exec_command", args: { cmd: "find . -name '*.rs' -not -path './target/*'" } }],
  anthropic: [{ tool: "glob", args: { pattern: "*.rs" } }],
  reference: [{ tool: "search_files", args: { path: "{root}", pattern: "**/*.rs" } }],
};
