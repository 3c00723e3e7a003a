// A text changes in all files but one, which the plan shows to be wrong.
import { call } from "../calls.js";

const args = { pattern: "hundredths()", replacement: "cents()", fixed: true };
const take = { plan: /plan[=: `"]+([\w-]+)/ };
const glob = "{src/report.rs,tests/parse.rs}";
const old = "hundredths()";

export default {
  after: { "src/report.rs": [[old, "cents()"]], "tests/parse.rs": [[old, "cents()"]] },
  paddock: [
    call("replace", args, { says: ["report.rs", "json.rs", "parse.rs"] }),
    call("replace", { ...args, exclude_paths: ["src/export/json.rs"] }, {
      take,
      otherwise: [call("replace", { ...args, glob }, { take }), call("replace", { ...args, glob, plan: "{plan}" })],
    }),
    call("replace", { ...args, exclude_paths: ["src/export/json.rs"], plan: "{plan}" }),
  ],
};
