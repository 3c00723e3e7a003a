// Plain text with a parenthesis, as a regular expression.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: [/\bbook\.rs/, /42|38|parse_posting\(row/],
  paddock: [wrong("grep", { pattern: "Account::new(" }, { says: "fixed" }), call("grep", { pattern: "Account::new(", fixed: true })],
  codex: [wrong("grep_files", { pattern: "parse_posting(row" }, { says: /\\|escape/ }), call("exec_command", { cmd: "grep -rnF -e 'parse_posting(row' -e 'Account::new(' src" })],
};
