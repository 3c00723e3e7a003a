// Two globs, separated by a comma.
import { call, wrong } from "../calls.js";

const take = { glob: /`(\{\*\.md,\s?\*\.toml\}|\*\.\{md,toml\})`/ };

export default {
  mistake: true,
  facts: ["Cargo.toml", "guide.md"],
  paddock: [wrong("glob", { pattern: "*.md,*.toml" }, { take }), call("glob", { pattern: "{glob}" })],
  codex: [wrong("grep_files", { pattern: "ledger", include: "*.md,*.toml" }, { take, otherwise: [call("exec_command", { cmd: "grep -rl ledger *.md *.toml docs" })] }), call("grep_files", { pattern: "(?i)entr|ledger", include: "{glob}" })],
};
