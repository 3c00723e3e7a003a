// A directory goes, and the line that names it.
const edit = ["postings whose amounts add up to zero. See [the guide](docs/guide.md).", "postings whose amounts add up to zero."];

export default {
  after: { "docs/guide.md": null, "README.md": [edit] },
  paddock: [
    { tool: "grep", args: { pattern: "docs/", fixed: true }, says: "README.md" },
    { tool: "delete", args: { path: "docs", recursive: true } },
    { tool: "edit_file", args: { path: "README.md", edits: [{ old_text: edit[0], new_text: edit[1] }] } },
  ],
  anthropic: [
    { tool: "grep", args: { pattern: "docs/", fixed: true }, says: "README.md" },
    { tool: "delete", args: { path: "docs", recursive: true } },
    { tool: "str_replace_based_edit_tool", args: { command: "str_replace", path: "README.md", old_str: edit[0], new_str: edit[1] } },
  ],
};
