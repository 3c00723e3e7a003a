// A line is added to a file whose last line has no line ending.
export default {
  start: { "notes.txt": "one\ntwo" },
  after: { "notes.txt": "one\ntwo\nthree\n" },
  paddock: [{ tool: "write_file", args: { path: "notes.txt", content: "three\n", append: true } }],
  codex: [
    { tool: "read_file", args: { file_path: "{root}/notes.txt" } },
    { tool: "apply_patch", args: { input: "*** Begin Patch\n*** Update File: notes.txt\n@@\n two\n+three\n*** End Patch\n" } },
  ],
  reference: [
    { tool: "read_text_file", args: { path: "{root}/notes.txt" } },
    { tool: "write_file", args: { path: "{root}/notes.txt", content: "one\ntwo\nthree\n" } },
  ],
};
