// `lines` for `offset` and `limit`.
import { call, EDITOR, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: ["parse_amount_strict(&text.replace"],
  paddock: [
    wrong("read_file", { path: "src/amount.rs", lines: "34-37" }, { says: ["`lines`", "offset", "limit"] }),
    call("read_file", { path: "src/amount.rs", offset: 34, limit: 4 }),
  ],
  codex: [
    wrong("read_file", { file_path: "{root}/src/amount.rs", lines: "34-37" }, { says: ["`lines`", "offset", "limit"] }),
    call("read_file", { file_path: "{root}/src/amount.rs", offset: 34, limit: 4 }),
  ],
  anthropic: [
    wrong(EDITOR, { command: "view", path: "src/amount.rs", lines: [34, 37] }, { says: ["`lines`", "view_range"] }),
    call(EDITOR, { command: "view", path: "src/amount.rs", view_range: [34, 37] }),
  ],
  reference: [
    wrong("read_text_file", { file: "{root}/src/amount.rs", head: 37 }, { says: "path" }),
    call("read_text_file", { path: "{root}/src/amount.rs", head: 37 }),
  ],
};
