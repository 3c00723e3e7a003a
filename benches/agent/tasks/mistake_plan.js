// A plan that is not one of this replacement.
import { call, wrong } from "../calls.js";

const args = { pattern: "NoEntry", replacement: "Orphan", fixed: true };
const take = { plan: /plan[=: `"]+([\w-]+)/ };
const after = Object.fromEntries(["src/error.rs", "src/book.rs", "src/parse.rs", "tests/parse.rs"].map((path) => [path, [["NoEntry", "Orphan"]]]));

export default {
  mistake: true,
  after,
  further: 1,
  paddock: [wrong("replace", { ...args, plan: "yes" }, { says: "plan" }), call("replace", args, { take }), call("replace", { ...args, plan: "{plan}" })],
};
