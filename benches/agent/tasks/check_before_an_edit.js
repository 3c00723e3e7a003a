// An edit is tried first, and then made. The text of the trial says that nothing was changed.
const args = { path: "src/entry.rs", edits: [{ old_text: "text", new_text: "title", replace_all: true }] };
const titles = { "src/entry.rs": [["text", "title"]] };

export default {
  after: titles,
  paddock: [
    { tool: "edit_file", args: { ...args, dry_run: true }, says: /noth|not changed|unchanged|would/i, otherwise: [{ tool: "read_file", args: { path: "src/entry.rs" } }, { tool: "edit_file", args }] },
    { tool: "edit_file", args },
  ],
  reference: [
    { tool: "read_text_file", args: { path: "{root}/src/entry.rs" } },
    ...[true, false].map((dryRun) => ({
      tool: "edit_file",
      args: {
        path: "{root}/src/entry.rs",
        dryRun,
        edits: [
          ["    pub text: String,", "    pub title: String,"],
          ["date: Date, text: String) -> Entry", "date: Date, title: String) -> Entry"],
          ["Entry { line, date, text, postings", "Entry { line, date, title, postings"],
        ].map(([oldText, newText]) => ({ oldText, newText })),
      },
    })),
  ],
};
