// The argument names of another editor.
import { call, edit, EDITOR, wrong } from "../calls.js";

export default {
  mistake: true,
  after: { "src/lib.rs": [["100_000", "50_000"]] },
  paddock: [
    wrong("edit_file", { file_path: "src/lib.rs", old_string: "100_000", new_string: "50_000" }, { says: ["path", "edits"] }),
    call("edit_file", edit.paddock("src/lib.rs", ["100_000", "50_000"])),
  ],
  codex: [
    wrong("apply_patch", { patch: "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-pub const MAX_ENTRIES: usize = 100_000;\n+pub const MAX_ENTRIES: usize = 50_000;\n*** End Patch\n" }, { says: "input" }),
    call("apply_patch", { input: "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-pub const MAX_ENTRIES: usize = 100_000;\n+pub const MAX_ENTRIES: usize = 50_000;\n*** End Patch\n" }),
  ],
  anthropic: [
    wrong(EDITOR, { command: "str_replace", path: "src/lib.rs", old_text: "100_000", new_text: "50_000" }, { says: ["old_str", "new_str"] }),
    call(EDITOR, edit.anthropic("src/lib.rs", ["100_000", "50_000"])),
  ],
  reference: [
    wrong("edit_file", { path: "{root}/src/lib.rs", edits: [{ old_text: "100_000", new_text: "50_000" }] }, { says: "oldText" }),
    call("edit_file", edit.reference("src/lib.rs", ["100_000", "50_000"])),
  ],
};
