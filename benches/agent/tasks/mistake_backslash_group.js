// `\1` for a group in a replacement.
import { call, wrong } from "../calls.js";

const args = { pattern: "fn (\\w+)_digits_of", replacement: "fn digits_of_\\1", glob: "*.rs" };
const files = { "src/names.rs": "fn code_digits_of() {}\nfn rate_digits_of() {}\n" };
const take = { plan: /plan[=: `"]+([\w-]+)/ };
const apply = call("replace", { ...args, replacement: "fn digits_of_$1", plan: "{plan}" });

export default {
  mistake: true,
  start: files,
  after: { "src/names.rs": "fn digits_of_code() {}\nfn digits_of_rate() {}\n" },
  // A replacement always takes a second call with its plan; the mistake costs one more.
  further: 1,
  paddock: [wrong("replace", args, { says: "\\1" }), call("replace", { ...args, replacement: "fn digits_of_$1" }, { take }), apply],
};
