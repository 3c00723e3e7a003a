// A look-ahead, which the engine lacks.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: [/\bamount\.rs/, /\bparse\.rs/],
  paddock: [wrong("grep", { pattern: "parse_amount(?!_strict)", output: "files" }, { says: ["\\b", /look-?a/] }), call("grep", { pattern: "parse_amount\\b", output: "files" })],
  codex: [wrong("grep_files", { pattern: "parse_amount(?!_strict)" }, { says: ["\\b", /look-?a/] }), call("grep_files", { pattern: "parse_amount\\b" })],
};
