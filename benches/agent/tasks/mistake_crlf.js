// CRLF in a text for a file with LF, and the reverse in a patch.
import { call, edit, EDITOR, update, wrong } from "../calls.js";

const exact = ["/// A format of export.\n#[derive(Clone, Copy, Debug, PartialEq)]", "/// A format.\n#[derive(Clone, Copy, Debug, PartialEq)]"];
const copied = exact.map((text) => text.replace("\n", "\r\n"));
const says = /CRLF|\\r|line ending/i;

export default {
  mistake: true,
  after: { "src/export/mod.rs": [exact] },
  paddock: [wrong("edit_file", edit.paddock("src/export/mod.rs", copied), { says }), call("edit_file", edit.paddock("src/export/mod.rs", exact))],
  anthropic: [wrong(EDITOR, edit.anthropic("src/export/mod.rs", copied), { says }), call(EDITOR, edit.anthropic("src/export/mod.rs", exact))],
  codex: [
    wrong("apply_patch", { input: update("src/export/mod.rs", "@@", "-/// A format of export.", "+/// A format.").replaceAll("\n", "\r\n") }, { says }),
    call("apply_patch", { input: update("src/export/mod.rs", "@@", "-/// A format of export.", "+/// A format.") }),
  ],
  reference: [wrong("edit_file", edit.reference("src/export/mod.rs", copied)), call("edit_file", edit.reference("src/export/mod.rs", exact))],
};
