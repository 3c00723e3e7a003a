// A directory, read as a file.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: ["json.rs"],
  paddock: [wrong("read_file", { path: "src/export" }, { take: { tool: /`(list_dir|tree)`/ } }), call("list_dir", { path: "src/export" })],
  codex: [wrong("read_file", { file_path: "{root}/src/export" }, { take: { tool: /`(list_dir)`/ } }), call("list_dir", { dir_path: "{root}/src/export" })],
  "mcp-filesystem": [wrong("read_text_file", { path: "{root}/src/export" }, { take: { tool: /`(list_directory)`/ } }), call("list_directory", { path: "{root}/src/export" })],
  reference: [wrong("read_text_file", { path: "{root}/src/export" }, { says: /directory/ }), call("list_directory", { path: "{root}/src/export" })],
};
