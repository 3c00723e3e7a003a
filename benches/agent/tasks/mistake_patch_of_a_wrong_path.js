// A patch names a file that does not exist.
import { call, update, wrong } from "../calls.js";

const patch = (path) => update(path, "@@", "-        let sum = self.sum();", "+        let sum: Amount = self.sum();");
const take = { path: /`(?:\S*\/)?(src\/entry\.rs)`/ };

export default {
  mistake: true,
  after: { "src/entry.rs": [["let sum = self.sum();", "let sum: Amount = self.sum();"]] },
  paddock: [wrong("apply_patch", { patch: patch("src/entries.rs") }, { take }), call("apply_patch", { patch: patch("{path}") })],
  codex: [wrong("apply_patch", { input: patch("src/entries.rs") }, { take }), call("apply_patch", { input: patch("{path}") })],
};
