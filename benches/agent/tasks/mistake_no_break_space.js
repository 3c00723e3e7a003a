// A space where the file has a no-break space.
import { call, edit, EDITOR, update, wrong } from "../calls.js";

const copied = ["15 digits", "eighteen"];
const exact = ["15\u00a0digits", copied[1]];
const says = /no-break space|NBSP|U\+00A0|\\u00a0|\u237d/i;

export default {
  mistake: true,
  start: { "notes.md": "# Notes\n\nAn amount has at most 15\u00a0digits.\n" },
  after: { "notes.md": [exact] },
  paddock: [wrong("edit_file", edit.paddock("notes.md", copied), { says }), call("edit_file", edit.paddock("notes.md", exact))],
  anthropic: [wrong(EDITOR, edit.anthropic("notes.md", copied), { says }), call(EDITOR, edit.anthropic("notes.md", exact))],
  codex: [
    wrong("apply_patch", { input: update("notes.md", "@@", "-An amount has at most 15 digits.", "+An amount has at most eighteen.") }, { says }),
    call("apply_patch", { input: update("notes.md", "@@", "-An amount has at most 15\u00a0digits.", "+An amount has at most eighteen.") }),
  ],
};
