// The layout of a crate, its manifest, its documentation and its entry point.
export default {
  facts: ["report.rs", "thiserror", "An amount has at most 15 digits", "pub mod parse;"],
  paddock: [
    { tool: "tree", args: {} },
    { tool: "read_files", args: { paths: ["Cargo.toml", "README.md", "src/lib.rs"] } },
  ],
  codex: [
    { tool: "list_dir", args: { dir_path: "{root}", limit: 100 } },
    { tool: "read_file", args: { file_path: "{root}/Cargo.toml" } },
    { tool: "read_file", args: { file_path: "{root}/README.md" } },
    { tool: "read_file", args: { file_path: "{root}/src/lib.rs" } },
  ],
  anthropic: [
    { tool: "str_replace_based_edit_tool", args: { command: "view", path: "." } },
    { tool: "str_replace_based_edit_tool", args: { command: "view", path: "Cargo.toml" } },
    { tool: "str_replace_based_edit_tool", args: { command: "view", path: "README.md" } },
    { tool: "str_replace_based_edit_tool", args: { command: "view", path: "src/lib.rs" } },
  ],
  reference: [
    { tool: "directory_tree", args: { path: "{root}" } },
    { tool: "read_multiple_files", args: { paths: ["{root}/Cargo.toml", "{root}/README.md", "{root}/src/lib.rs"] } },
  ],
};
