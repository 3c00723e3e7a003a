// A name that is nearly right.
import { call, EDITOR, wrong } from "../calls.js";

const take = { path: /`(?:\S*\/)?(src\/parse\.rs)`/ };

export default {
  mistake: true,
  facts: ["fn parse_header"],
  paddock: [wrong("read_file", { path: "src/parser.rs", offset: 33, limit: 6 }, { take }), call("read_file", { path: "{path}", offset: 33, limit: 6 })],
  codex: [wrong("read_file", { file_path: "{root}/src/parser.rs", offset: 33, limit: 6 }, { take }), call("read_file", { file_path: "{root}/{path}", offset: 33, limit: 6 })],
  anthropic: [
    wrong(EDITOR, { command: "view", path: "src/parser.rs", view_range: [33, 38] }, {
      take,
      otherwise: [call(EDITOR, { command: "view", path: "src" }), call(EDITOR, { command: "view", path: "src/parse.rs", view_range: [33, 38] })],
    }),
    call(EDITOR, { command: "view", path: "{path}", view_range: [33, 38] }),
  ],
  "mcp-filesystem": [wrong("read_text_file", { path: "{root}/src/parser.rs" }, { take }), call("read_text_file", { path: "{root}/{path}" })],
  reference: [
    wrong("read_text_file", { path: "{root}/src/parser.rs" }, {
      take,
      otherwise: [call("list_directory", { path: "{root}/src" }), call("read_text_file", { path: "{root}/src/parse.rs" })],
    }),
    call("read_text_file", { path: "{root}/{path}" }),
  ],
};
