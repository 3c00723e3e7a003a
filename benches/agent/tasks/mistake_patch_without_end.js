// An envelope without its last line.
import { call, update, wrong } from "../calls.js";

const patch = update("src/lib.rs", "@@", "-pub const MAX_ENTRIES: usize = 100_000;", "+pub const MAX_ENTRIES: usize = 50_000;");

export default {
  mistake: true,
  after: { "src/lib.rs": [["100_000", "50_000"]] },
  paddock: [wrong("apply_patch", { patch: patch.replace("*** End Patch\n", "") }, { says: "*** End Patch" }), call("apply_patch", { patch })],
  codex: [wrong("apply_patch", { input: patch.replace("*** End Patch\n", "") }, { says: "*** End Patch" }), call("apply_patch", { input: patch })],
};
