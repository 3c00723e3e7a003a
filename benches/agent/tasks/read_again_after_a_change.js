// A file that was read is changed by a command; the model reads only what changed.
const read = { tool: "read_file", args: { path: "src/parse.rs" } };
const change = { tool: "shell", args: { command: "sed -i 's/1..=31/1..=30/' src/parse.rs" } };

export default {
  facts: [/1\.\.=30/],
  after: { "src/parse.rs": [["1..=31", "1..=30"]] },
  paddock: [
    { ...read, take: { etag: /etag[=: `"]+([0-9a-f]{4,16})/i }, otherwise: [change, read] },
    change,
    { tool: "read_file", args: { path: "src/parse.rs", if_none_match: "{etag}" } },
  ],
  codex: [
    { tool: "read_file", args: { file_path: "{root}/src/parse.rs" } },
    { tool: "exec_command", args: { cmd: change.args.command } },
    { tool: "read_file", args: { file_path: "{root}/src/parse.rs" } },
  ],
};
