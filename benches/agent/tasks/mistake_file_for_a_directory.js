// A file, listed as a directory.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: ["pub mod csv;"],
  paddock: [wrong("list_dir", { path: "src/export/mod.rs" }, { says: /file/ }), call("read_file", { path: "src/export/mod.rs", limit: 5 })],
  codex: [wrong("list_dir", { dir_path: "{root}/src/export/mod.rs" }, { says: /file/ }), call("read_file", { file_path: "{root}/src/export/mod.rs", limit: 5 })],
  reference: [wrong("list_directory", { path: "{root}/src/export/mod.rs" }, { says: /not a directory/ }), call("read_text_file", { path: "{root}/src/export/mod.rs", head: 5 })],
};
