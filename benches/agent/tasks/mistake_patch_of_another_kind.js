// A unified diff for a tool that takes envelopes, and the line numbers of one in an envelope.
import { call, update, wrong } from "../calls.js";

const lines = ["-pub const MAX_ENTRIES: usize = 100_000;", "+pub const MAX_ENTRIES: usize = 50_000;"];

export default {
  mistake: true,
  after: { "src/lib.rs": [["100_000", "50_000"]] },
  paddock: [
    wrong("apply_patch", { patch: update("src/lib.rs", "@@ -20,1 +20,1 @@", ...lines) }, { says: "@@" }),
    call("apply_patch", { patch: update("src/lib.rs", "@@", ...lines) }),
  ],
  codex: [
    wrong("apply_patch", { input: `--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -20 +20 @@\n${lines.join("\n")}\n` }, { says: "*** Begin Patch" }),
    call("apply_patch", { input: update("src/lib.rs", "@@", ...lines) }),
  ],
};
