// The line numbers of a read were copied too.
import { call, edit, EDITOR, wrong } from "../calls.js";

const exact = ["/// Largest number of entries of a book.\npub const MAX_ENTRIES: usize = 100_000;", "/// Largest number of entries.\npub const MAX_ENTRIES: usize = 50_000;"];
const numbered = (join) => exact.map((text) => text.split("\n").map((line, at) => join(19 + at, line)).join("\n"));
const says = /`?\/\/\/ Largest number of entries of a book\./;

export default {
  mistake: true,
  after: { "src/lib.rs": [exact] },
  paddock: [wrong("edit_file", edit.paddock("src/lib.rs", numbered((at, line) => `${at}|${line}`)), { says }), call("edit_file", edit.paddock("src/lib.rs", exact))],
  anthropic: [wrong(EDITOR, edit.anthropic("src/lib.rs", numbered((at, line) => `    ${at}\t${line}`)), { says }), call(EDITOR, edit.anthropic("src/lib.rs", exact))],
};
