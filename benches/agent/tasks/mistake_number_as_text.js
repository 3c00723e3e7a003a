// Numbers as strings, and a list as JSON in a string.
import { call, EDITOR, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: ["parse_amount_strict(&text.replace"],
  paddock: [
    wrong("read_files", { files: '[{"path": "src/amount.rs", "offset": "34", "limit": "4"}]' }, { says: "files" }),
    call("read_files", { files: [{ path: "src/amount.rs", offset: 34, limit: 4 }] }),
  ],
  codex: [
    wrong("read_file", { file_path: "{root}/src/amount.rs", offset: "34", limit: "4" }, { says: "offset" }),
    call("read_file", { file_path: "{root}/src/amount.rs", offset: 34, limit: 4 }),
  ],
  anthropic: [
    wrong(EDITOR, { command: "view", path: "src/amount.rs", view_range: "[34, 37]" }, { says: "view_range" }),
    call(EDITOR, { command: "view", path: "src/amount.rs", view_range: [34, 37] }),
  ],
};
