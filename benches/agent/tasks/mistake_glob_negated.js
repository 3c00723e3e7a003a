// A glob that leaves out by `!`.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: ["README.md", "Cargo.toml"],
  paddock: [wrong("grep", { pattern: "ledger", glob: "!*.rs", output: "files" }, { says: "!" }), call("grep", { pattern: "ledger", glob: "*.{md,toml}", output: "files" })],
  codex: [wrong("grep_files", { pattern: "ledger", include: "!*.rs" }, { says: "!" }), call("grep_files", { pattern: "ledger", include: "*.{md,toml}" })],
};
