// Straight quotes where the file has curly ones.
import { call, edit, EDITOR, update, wrong } from "../calls.js";

const start = "# Notes\n\nA book says \u201cRent\u201d once a month.\n";
const copied = ['says "Rent" once a month', "names the rent once a month"];
const exact = ["says \u201cRent\u201d once a month", copied[1]];
const says = "\u201cRent\u201d";

export default {
  mistake: true,
  start: { "notes.md": start },
  after: { "notes.md": [exact] },
  paddock: [wrong("edit_file", edit.paddock("notes.md", copied), { says }), call("edit_file", edit.paddock("notes.md", exact))],
  anthropic: [wrong(EDITOR, edit.anthropic("notes.md", copied), { says }), call(EDITOR, edit.anthropic("notes.md", exact))],
  codex: [
    wrong("apply_patch", { input: update("notes.md", "@@", '-A book says "Rent" once a month.', "+A book names the rent once a month.") }, { says }),
    call("apply_patch", { input: update("notes.md", "@@", "-A book says \u201cRent\u201d once a month.", "+A book names the rent once a month.") }),
  ],
  reference: [
    wrong("edit_file", edit.reference("notes.md", copied), { says, otherwise: [call("read_text_file", { path: "{root}/notes.md" }), call("edit_file", edit.reference("notes.md", exact))] }),
    call("edit_file", edit.reference("notes.md", exact)),
  ],
};
