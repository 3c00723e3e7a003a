// The text differs from the file in its indentation.
import { call, edit, EDITOR, update, wrong } from "../calls.js";

const copied = ["    if row.starts_with(' ') {\n        let entry = open.as_mut().ok_or(Error::NoEntry { line })?;", "    if row.starts_with(char::is_whitespace) {\n        let entry = open.as_mut().ok_or(Error::NoEntry { line })?;"];
const exact = copied.map((text) => text.replaceAll(/^/gm, "    "));
/** The line as the text has it: its characters, or marks for spaces. */
const says = /[·\s]{8}if row\.starts_with\(' '\) \{/;

export default {
  mistake: true,
  after: { "src/parse.rs": [exact] },
  paddock: [wrong("edit_file", edit.paddock("src/parse.rs", copied), { says }), call("edit_file", edit.paddock("src/parse.rs", exact))],
  // The patch applies without the indentation, as in Codex, and says so; the new line is then indented.
  codex: [
    wrong("apply_patch", { input: update("src/parse.rs", "@@", "-    if row.starts_with(' ') {", "+    if row.starts_with(char::is_whitespace) {") }, { says: /white ?space/ }),
    call("apply_patch", { input: update("src/parse.rs", "@@", "-    if row.starts_with(char::is_whitespace) {", "+        if row.starts_with(char::is_whitespace) {") }),
  ],
  anthropic: [wrong(EDITOR, edit.anthropic("src/parse.rs", copied), { says }), call(EDITOR, edit.anthropic("src/parse.rs", exact))],
  // It indents the first line as in the file and the second one not, which its diff shows.
  reference: [
    wrong("edit_file", edit.reference("src/parse.rs", copied), { says: /\+ {8}let entry/ }),
    call("edit_file", edit.reference("src/parse.rs", [exact[1].replace("            let", "        let"), exact[1]])),
  ],
};
