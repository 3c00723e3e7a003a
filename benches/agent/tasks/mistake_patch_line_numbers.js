// A unified diff whose lines are elsewhere.
import { call, wrong } from "../calls.js";

const diff = (header) => `--- a/src/lib.rs\n+++ b/src/lib.rs\n${header}\n \n /// Largest number of entries of a book.\n-pub const MAX_ENTRIES: usize = 100_000;\n+pub const MAX_ENTRIES: usize = 50_000;\n`;

export default {
  mistake: true,
  after: { "src/lib.rs": [["100_000", "50_000"]] },
  paddock: [wrong("apply_patch", { patch: diff("@@ -3,3 +3,3 @@") }, { take: { line: /occurs? (?:only )?at line (\d+)/ } }), call("apply_patch", { patch: diff("@@ -{line},3 +{line},3 @@") })],
};
