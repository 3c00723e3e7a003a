// A unified diff whose hunk header has wrong counts.
import { call, wrong } from "../calls.js";

const diff = (header) => `--- a/src/lib.rs\n+++ b/src/lib.rs\n${header}\n \n /// Largest number of entries of a book.\n-pub const MAX_ENTRIES: usize = 100_000;\n+pub const MAX_ENTRIES: usize = 50_000;\n`;

export default {
  mistake: true,
  after: { "src/lib.rs": [["100_000", "50_000"]] },
  paddock: [wrong("apply_patch", { patch: diff("@@ -18,9 +18,2 @@") }, { says: /\b3\b/ }), call("apply_patch", { patch: diff("@@ -18,3 +18,3 @@") })],
};
