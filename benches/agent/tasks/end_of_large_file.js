// The last function of a file of 2,045 lines.
export default {
  facts: ["pub fn is_retired", "RETIRED.contains(&code)"],
  paddock: [{ tool: "read_file", args: { path: "src/tables.rs", tail: 10 } }],
  codex: [{ tool: "exec_command", args: { cmd: "tail -n 10 src/tables.rs" } }],
  reference: [{ tool: "read_text_file", args: { path: "{root}/src/tables.rs", tail: 10 } }],
};
