// Nothing is found, since the letter case differs.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: [/\berror\.rs/, "the postings add up to"],
  paddock: [wrong("grep", { pattern: "The Postings add up to" }, { says: /case/ }), call("grep", { pattern: "The Postings add up to", case: "insensitive" })],
  codex: [wrong("grep_files", { pattern: "The Postings add up to" }, { says: /case/ }), call("exec_command", { cmd: "grep -rni 'the postings add up to' src" })],
};
