// A context line is remembered wrongly; the error has the line as it is.
import { call, update, wrong } from "../calls.js";

const take = { line: /`(\/\/\/ Largest number of entries of a book\.)`/ };
const patch = (context) => update("src/lib.rs", "@@", ` ${context}`, "-pub const MAX_ENTRIES: usize = 100_000;", "+pub const MAX_ENTRIES: usize = 50_000;");

export default {
  mistake: true,
  after: { "src/lib.rs": [["100_000", "50_000"]] },
  paddock: [wrong("apply_patch", { patch: patch("/// The largest number of entries.") }, { take }), call("apply_patch", { patch: patch("{line}") })],
  codex: [wrong("apply_patch", { input: patch("/// The largest number of entries.") }, { take }), call("apply_patch", { input: patch("{line}") })],
};
