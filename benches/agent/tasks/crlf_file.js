// A row of a file with CRLF line endings changes, and every other byte stays.
export default {
  after: { "data/rates.csv": [["USD;0.92\r\n", "USD;0.93\r\nJPY;0.61\r\n"]] },
  paddock: [
    { tool: "read_file", args: { path: "data/rates.csv" } },
    { tool: "edit_file", args: { path: "data/rates.csv", edits: [{ old_text: "USD;0.92\n", new_text: "USD;0.93\nJPY;0.61\n" }] } },
  ],
  codex: [
    { tool: "read_file", args: { file_path: "{root}/data/rates.csv" } },
    { tool: "apply_patch", args: { input: "*** Begin Patch\n*** Update File: data/rates.csv\n@@\n CHF;1.04\n-USD;0.92\n+USD;0.93\n+JPY;0.61\n*** End Patch\n" } },
  ],
  anthropic: [
    { tool: "str_replace_based_edit_tool", args: { command: "view", path: "data/rates.csv" } },
    { tool: "str_replace_based_edit_tool", args: { command: "str_replace", path: "data/rates.csv", old_str: "USD;0.92\n", new_str: "USD;0.93\nJPY;0.61\n" } },
  ],
  reference: [
    { tool: "read_text_file", args: { path: "{root}/data/rates.csv" } },
    { tool: "edit_file", args: { path: "{root}/data/rates.csv", edits: [{ oldText: "USD;0.92\n", newText: "USD;0.93\nJPY;0.61\n" }] } },
  ],
};
