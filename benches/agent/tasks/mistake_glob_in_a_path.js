// A glob as the directory of a search.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: ["report.rs", "amount.rs"],
  paddock: [
    wrong("grep", { pattern: "impl|writeln", path: "src/*.rs", output: "files" }, { says: "glob", otherwise: [call("grep", { pattern: "impl|writeln", path: "src", output: "files" })] }),
    call("grep", { pattern: "impl|writeln", glob: "src/*.rs", output: "files" }),
  ],
  codex: [
    wrong("grep_files", { pattern: "impl|writeln", path: "src/*.rs" }, { says: "include", otherwise: [call("grep_files", { pattern: "impl|writeln", path: "src" })] }),
    call("grep_files", { pattern: "impl|writeln", include: "src/*.rs" }),
  ],
};
