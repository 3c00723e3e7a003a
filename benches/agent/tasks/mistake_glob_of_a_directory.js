// A glob that names a directory, for all files in it.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: [/\bcsv\.rs/, /\bjson\.rs/],
  paddock: [wrong("grep", { pattern: "pub fn", glob: "src/export", output: "files" }, { take: { glob: /`(src\/export\/\*\*(?:\/\*)?)`/ } }), call("grep", { pattern: "pub fn", glob: "{glob}", output: "files" })],
  codex: [wrong("grep_files", { pattern: "pub fn", include: "src/export" }, { take: { glob: /`(src\/export\/\*\*(?:\/\*)?)`/ } }), call("grep_files", { pattern: "pub fn", include: "{glob}" })],
};
