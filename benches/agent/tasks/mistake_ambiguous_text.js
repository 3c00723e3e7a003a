// The text is in the file twice, and the second place is meant.
import { call, edit, EDITOR, update, wrong } from "../calls.js";

const copied = ["    type Output = Amount;", "    type Output = Self;"];
const exact = ["impl Neg for Amount {\n    type Output = Amount;", "impl Neg for Amount {\n    type Output = Self;"];
const says = [/\b64\b/, /\b72\b/];

export default {
  mistake: true,
  after: { "src/amount.rs": [exact] },
  paddock: [wrong("edit_file", edit.paddock("src/amount.rs", copied), { says }), call("edit_file", edit.paddock("src/amount.rs", exact))],
  anthropic: [wrong(EDITOR, edit.anthropic("src/amount.rs", copied), { says }), call(EDITOR, edit.anthropic("src/amount.rs", exact))],
  codex: [
    wrong("apply_patch", { input: update("src/amount.rs", "@@ impl Neg for Amount", "-    type Output = Amount;", "+    type Output = Self;") }, { says }),
    call("apply_patch", { input: update("src/amount.rs", "@@ impl Neg for Amount {", "-    type Output = Amount;", "+    type Output = Self;") }),
  ],
  // It replaces the first place without a word, which the model sees in the diff and has to take back.
  reference: [
    wrong("edit_file", edit.reference("src/amount.rs", copied), { says: "impl Add for Amount" }),
    call("edit_file", edit.reference("src/amount.rs", ["impl Add for Amount {\n    type Output = Self;", "impl Add for Amount {\n    type Output = Amount;"], exact)),
  ],
  "mcp-filesystem": [wrong("edit_file", edit.reference("src/amount.rs", copied), { says }), call("edit_file", edit.reference("src/amount.rs", exact))],
};
