// An offset past the end, where the last lines are meant.
import { call, EDITOR, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: ["Err(Error::Unbalanced { line: self.line"],
  paddock: [wrong("read_file", { path: "src/entry.rs", offset: 200, limit: 20 }, { take: { total: /\b(43)\b/ } }), call("read_file", { path: "src/entry.rs", offset: 33, limit: 11 })],
  codex: [
    wrong("read_file", { file_path: "{root}/src/entry.rs", offset: 200, limit: 20 }, { take: { total: /\b(43)\b/ }, otherwise: [call("read_file", { file_path: "{root}/src/entry.rs" })] }),
    call("read_file", { file_path: "{root}/src/entry.rs", offset: 33, limit: 11 }),
  ],
  anthropic: [
    wrong(EDITOR, { command: "view", path: "src/entry.rs", view_range: [200, 220] }, { take: { total: /\b(43)\b/ }, otherwise: [call(EDITOR, { command: "view", path: "src/entry.rs" })] }),
    call(EDITOR, { command: "view", path: "src/entry.rs", view_range: [33, 43] }),
  ],
};
