// `\n` as two characters in the text.
import { call, edit, EDITOR, wrong } from "../calls.js";

const exact = ["pub mod csv;\npub mod json;", "pub mod csv;\npub mod html;\npub mod json;"];
const escaped = exact.map((text) => text.replaceAll("\n", "\\n"));
const says = /pub mod csv;/;

export default {
  mistake: true,
  after: { "src/export/mod.rs": [exact] },
  paddock: [wrong("edit_file", edit.paddock("src/export/mod.rs", escaped), { says }), call("edit_file", edit.paddock("src/export/mod.rs", exact))],
  anthropic: [wrong(EDITOR, edit.anthropic("src/export/mod.rs", escaped), { says }), call(EDITOR, edit.anthropic("src/export/mod.rs", exact))],
};
