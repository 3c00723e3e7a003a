// A search without its pattern, which is given by another name.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: [/months\.sort/],
  paddock: [wrong("grep", { query: "months.sort" }, { says: "pattern" }), call("grep", { pattern: "months.sort" })],
  codex: [
    wrong("grep_files", { query: "months.sort" }, { says: "pattern" }),
    call("exec_command", { cmd: "grep -rn months.sort src" }),
  ],
};
