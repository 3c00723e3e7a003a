// A file moves to a new directory, and a link to it follows.
export default {
  after: { "docs/guide.md": null, "docs/user/guide.md": { from: "docs/guide.md" }, "README.md": [["docs/guide.md", "docs/user/guide.md"]] },
  paddock: [
    { tool: "move", args: { source: "docs/guide.md", destination: "docs/user/guide.md" } },
    { tool: "replace", args: { pattern: "docs/guide.md", replacement: "docs/user/guide.md", fixed: true }, take: { plan: /plan[=: `"]+([\w-]+)/ } },
    { tool: "replace", args: { pattern: "docs/guide.md", replacement: "docs/user/guide.md", fixed: true, plan: "{plan}" } },
  ],
  reference: [
    { tool: "create_directory", args: { path: "{root}/docs/user" } },
    { tool: "move_file", args: { source: "{root}/docs/guide.md", destination: "{root}/docs/user/guide.md" } },
    { tool: "read_text_file", args: { path: "{root}/README.md" } },
    { tool: "edit_file", args: { path: "{root}/README.md", edits: [{ oldText: "docs/guide.md", newText: "docs/user/guide.md" }] } },
  ],
};
