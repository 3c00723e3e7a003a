// A patch of three files is undone after a further change, by the id that its text has.
const patch = `*** Begin Patch
*** Delete File: docs/guide.md
*** Update File: README.md
@@
-postings whose amounts add up to zero. See [the guide](docs/guide.md).
+postings whose amounts add up to zero.
*** Update File: src/lib.rs
@@
-//! Double-entry bookkeeping in plain text files.
+//! Bookkeeping.
*** End Patch
`;

export default {
  after: { "Cargo.toml": [["0.3.1", "0.3.2"]] },
  paddock: [
    {
      tool: "apply_patch",
      args: { patch },
      take: { backup: /(?:backup|undo|restore)[=: `"]+(?:backup[=: `"]+)?([\w-]+)/i },
      otherwise: [
        { tool: "edit_file", args: { path: "Cargo.toml", edits: [{ old_text: "0.3.1", new_text: "0.3.2" }] } },
        { tool: "restore", args: { path: "README.md" } },
        { tool: "restore", args: { path: "src/lib.rs" } },
        { tool: "restore", args: { path: "docs/guide.md" } },
      ],
    },
    { tool: "edit_file", args: { path: "Cargo.toml", edits: [{ old_text: "0.3.1", new_text: "0.3.2" }] } },
    { tool: "restore", args: { backup: "{backup}" } },
  ],
};
