// A module gets another name: its file moves, and what names it follows.
export default {
  after: {
    "src/codes.rs": { from: "src/tables.rs" },
    "src/tables.rs": null,
    "src/lib.rs": [
      ["pub mod book;\n", "pub mod book;\npub mod codes;\n"],
      ["pub mod tables;\n", ""],
    ],
  },
  paddock: [
    { tool: "grep", args: { pattern: "\\btables\\b", glob: "*.rs" }, says: "src/lib.rs" },
    {
      tool: "apply_patch",
      args: { patch: "*** Begin Patch\n*** Update File: src/tables.rs\n*** Move to: src/codes.rs\n*** Update File: src/lib.rs\n@@\n pub mod book;\n+pub mod codes;\n@@\n-pub mod tables;\n*** End Patch\n" },
      otherwise: [
        { tool: "move", args: { source: "src/tables.rs", destination: "src/codes.rs" } },
        { tool: "edit_file", args: { path: "src/lib.rs", edits: [{ old_text: "pub mod book;\n", new_text: "pub mod book;\npub mod codes;\n" }, { old_text: "pub mod tables;\n", new_text: "" }] } },
      ],
    },
  ],
  codex: [
    { tool: "grep_files", args: { pattern: "\\btables\\b", include: "*.rs" }, says: "src/lib.rs" },
    { tool: "read_file", args: { file_path: "{root}/src/lib.rs" } },
    {
      tool: "apply_patch",
      args: { input: "*** Begin Patch\n*** Update File: src/tables.rs\n*** Move to: src/codes.rs\n@@\n //! Tables of exchange codes. Generated; do not edit by hand.\n*** Update File: src/lib.rs\n@@\n pub mod book;\n+pub mod codes;\n@@\n-pub mod tables;\n*** End Patch\n" },
      otherwise: [
        { tool: "exec_command", args: { cmd: "mv src/tables.rs src/codes.rs" } },
        { tool: "apply_patch", args: { input: "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n pub mod book;\n+pub mod codes;\n@@\n-pub mod tables;\n*** End Patch\n" } },
      ],
    },
  ],
  anthropic: [
    { tool: "grep", args: { pattern: "\\btables\\b", glob: "*.rs" }, says: "src/lib.rs" },
    { tool: "move", args: { source: "src/tables.rs", destination: "src/codes.rs" } },
    { tool: "str_replace_based_edit_tool", args: { command: "str_replace", path: "src/lib.rs", old_str: "pub mod book;\n", new_str: "pub mod book;\npub mod codes;\n" } },
    { tool: "str_replace_based_edit_tool", args: { command: "str_replace", path: "src/lib.rs", old_str: "pub mod tables;\n", new_str: "" } },
  ],
  reference: [
    { tool: "read_text_file", args: { path: "{root}/src/lib.rs" } },
    { tool: "move_file", args: { source: "{root}/src/tables.rs", destination: "{root}/src/codes.rs" } },
    { tool: "edit_file", args: { path: "{root}/src/lib.rs", edits: [{ oldText: "pub mod book;\n", newText: "pub mod book;\npub mod codes;\n" }, { oldText: "pub mod tables;\n", newText: "" }] } },
  ],
};
