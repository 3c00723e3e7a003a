// A hunk of one line that occurs twice, without context.
import { call, update, wrong } from "../calls.js";

const back = call("apply_patch", {
  input: update("src/amount.rs", "@@ impl Add for Amount {", "-    type Output = Self;", "+    type Output = Amount;", "@@ impl Neg for Amount {", "-    type Output = Amount;", "+    type Output = Self;"),
});
const says = [/\b64\b/, /\b72\b/];

export default {
  mistake: true,
  after: { "src/amount.rs": [["impl Neg for Amount {\n    type Output = Amount;", "impl Neg for Amount {\n    type Output = Self;"]] },
  paddock: [
    wrong("apply_patch", { patch: update("src/amount.rs", "@@", "-    type Output = Amount;", "+    type Output = Self;") }, { says }),
    call("apply_patch", { patch: update("src/amount.rs", "@@ impl Neg for Amount {", "-    type Output = Amount;", "+    type Output = Self;") }),
  ],
  // Codex takes the first place. If the answer says that there is another, the model takes the change back there.
  codex: [
    wrong("apply_patch", { input: update("src/amount.rs", "@@", "-    type Output = Amount;", "+    type Output = Self;") }, {
      says,
      done: [back],
      otherwise: [call("exec_command", { cmd: "grep -n -B1 Output src/amount.rs" }), back],
    }),
    call("apply_patch", { input: update("src/amount.rs", "@@ impl Neg for Amount {", "-    type Output = Amount;", "+    type Output = Self;") }),
  ],
};
