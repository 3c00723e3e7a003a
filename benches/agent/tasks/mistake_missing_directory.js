// A directory of the path does not exist.
import { call, wrong } from "../calls.js";

const take = { top: /`(?:\S*\/)?(src)(?:\/entry\.rs)?`/ };

export default {
  mistake: true,
  facts: ["pub fn sum(&self)"],
  paddock: [wrong("read_file", { path: "source/entry.rs" }, { take }), call("read_file", { path: "{top}/entry.rs" })],
  codex: [wrong("read_file", { file_path: "{root}/source/entry.rs" }, { take }), call("read_file", { file_path: "{root}/{top}/entry.rs" })],
  reference: [
    wrong("read_text_file", { path: "{root}/source/entry.rs" }, {
      take,
      otherwise: [call("list_directory", { path: "{root}" }), call("read_text_file", { path: "{root}/src/entry.rs" })],
    }),
    call("read_text_file", { path: "{root}/{top}/entry.rs" }),
  ],
};
