// How often each file uses a type.
export default {
  facts: [/amount\.rs\W+2\d/, /book\.rs\W+\d/],
  paddock: [{ tool: "grep", args: { pattern: "\\bAmount\\b", glob: "src/**/*.rs", output: "count" } }],
  codex: [{ tool: "exec_command", args: { cmd: "grep -rcw Amount src" } }],
  anthropic: [{ tool: "grep", args: { pattern: "\\bAmount\\b", glob: "src/**/*.rs", output: "count" } }],
};
