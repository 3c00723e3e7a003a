// `\|` for alternatives, as in basic regular expressions.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: [/\btables\.rs/, /\bamount\.rs/],
  paddock: [wrong("grep", { pattern: "fn is_zero\\|fn is_retired" }, { says: /`?\|`? / }), call("grep", { pattern: "fn is_zero|fn is_retired" })],
  codex: [wrong("grep_files", { pattern: "fn is_zero\\|fn is_retired" }, { says: /`?\|`? / }), call("grep_files", { pattern: "fn is_zero|fn is_retired" })],
};
