// A tool of another server.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: ["src/export/csv.rs"],
  paddock: [wrong("search_files", { pattern: "csv.rs" }, { says: /`?glob/ }), call("glob", { pattern: "csv.rs" })],
  codex: [wrong("shell", { command: ["bash", "-lc", "find . -name csv.rs"] }, { says: /exec_command/ }), call("exec_command", { cmd: "find . -name csv.rs; ls src/export/csv.rs" })],
};
