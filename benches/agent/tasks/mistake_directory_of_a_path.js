// The file is in another directory than the model thinks.
import { call, EDITOR, wrong } from "../calls.js";

const take = { path: /`(?:\S*\/)?(src\/export\/csv\.rs)`/ };

export default {
  mistake: true,
  facts: ["fn quote"],
  paddock: [
    wrong("read_file", { path: "src/csv.rs" }, { take, otherwise: [call("glob", { pattern: "csv.rs" }), call("read_file", { path: "src/export/csv.rs" })] }),
    call("read_file", { path: "{path}" }),
  ],
  codex: [
    wrong("read_file", { file_path: "{root}/src/csv.rs" }, { take, otherwise: [call("list_dir", { dir_path: "{root}/src" }), call("read_file", { file_path: "{root}/src/export/csv.rs" })] }),
    call("read_file", { file_path: "{root}/{path}" }),
  ],
  anthropic: [
    wrong(EDITOR, { command: "view", path: "src/csv.rs" }, {
      take,
      otherwise: [call(EDITOR, { command: "view", path: "src" }), call(EDITOR, { command: "view", path: "src/export/csv.rs" })],
    }),
    call(EDITOR, { command: "view", path: "{path}" }),
  ],
  reference: [
    wrong("read_text_file", { path: "{root}/src/csv.rs" }, {
      take,
      otherwise: [call("search_files", { path: "{root}", pattern: "**/csv.rs" }), call("read_text_file", { path: "{root}/src/export/csv.rs" })],
    }),
    call("read_text_file", { path: "{root}/{path}" }),
  ],
};
