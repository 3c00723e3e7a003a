// Spaces where the file has a tab.
import { call, edit, EDITOR, wrong } from "../calls.js";

const copied = ["    cargo clippy", "    cargo clippy --all-targets"];
const exact = ["\tcargo clippy", "\tcargo clippy --all-targets"];
const says = /tab|\\t|→/;

export default {
  mistake: true,
  start: { Makefile: "check:\n\tcargo test\n\tcargo clippy\n" },
  after: { Makefile: "check:\n\tcargo test\n\tcargo clippy --all-targets\n" },
  paddock: [wrong("edit_file", edit.paddock("Makefile", copied), { says }), call("edit_file", edit.paddock("Makefile", exact))],
  anthropic: [wrong(EDITOR, edit.anthropic("Makefile", copied), { says }), call(EDITOR, edit.anthropic("Makefile", exact))],
  reference: [wrong("edit_file", edit.reference("Makefile", copied)), call("edit_file", edit.reference("Makefile", exact))],
};
