// Context lines without the space before them.
import { call, update, wrong } from "../calls.js";

const patch = (space) => update("src/lib.rs", "@@", `${space}/// Largest number of entries of a book.`, "-pub const MAX_ENTRIES: usize = 100_000;", "+pub const MAX_ENTRIES: usize = 50_000;");

export default {
  mistake: true,
  after: { "src/lib.rs": [["100_000", "50_000"]] },
  paddock: [wrong("apply_patch", { patch: patch("") }, { says: ["/// Largest number of entries of a book.", /space|blank|context/] }), call("apply_patch", { patch: patch(" ") })],
  codex: [wrong("apply_patch", { input: patch("") }, { says: ["/// Largest number of entries of a book.", /space|blank|context/] }), call("apply_patch", { input: patch(" ") })],
};
