// The text differs from the file in letter case.
import { call, edit, EDITOR, wrong } from "../calls.js";

const copied = ["/// Checks that the Postings add up to Zero.", "/// Checks that the sum is zero."];
const exact = ["/// Checks that the postings add up to zero.", "/// Checks that the sum is zero."];
const says = /\/\/\/ Checks that the postings add up to zero\./;

export default {
  mistake: true,
  after: { "src/entry.rs": [exact] },
  paddock: [wrong("edit_file", edit.paddock("src/entry.rs", copied), { says }), call("edit_file", edit.paddock("src/entry.rs", exact))],
  anthropic: [wrong(EDITOR, edit.anthropic("src/entry.rs", copied), { says }), call(EDITOR, edit.anthropic("src/entry.rs", exact))],
  reference: [
    wrong("edit_file", edit.reference("src/entry.rs", copied), { says, otherwise: [call("read_text_file", { path: "{root}/src/entry.rs" }), call("edit_file", edit.reference("src/entry.rs", exact))] }),
    call("edit_file", edit.reference("src/entry.rs", exact)),
  ],
};
