// A whole log is asked for, where one line of it is wanted. The page says how many lines there are, and how to go on.
import { call, EDITOR, wrong } from "../calls.js";

const content = Array.from({ length: 150 }, (_, line) => `${String(line + 1).padStart(3, "0")} ${"=".repeat(480)}\n`).join("") + "the end\n";

export default {
  mistake: true,
  start: { "data/wide.txt": content },
  facts: ["the end"],
  paddock: [wrong("read_file", { path: "data/wide.txt", limit: 100_000 }, { take: { total: /of (151)/ } }), call("read_file", { path: "data/wide.txt", tail: 1 })],
  codex: [wrong("read_file", { file_path: "{root}/data/wide.txt", limit: 100_000 }, { take: { total: /\b(151)\b/ } }), call("read_file", { file_path: "{root}/data/wide.txt", offset: "{#total}" })],
  anthropic: [
    wrong(EDITOR, { command: "view", path: "data/wide.txt" }, { take: { next: /\[(\d+), -1\]/ } }),
    call(EDITOR, { command: "view", path: "data/wide.txt", view_range: ["{#next}", -1] }),
  ],
};
