// A text changes in all files but one, which the plan shows to be wrong.
import { call } from "../calls.js";

const args = { pattern: "hundredths()", replacement: "cents()", fixed: true };
const take = { plan: /plan[=: `"]+([\w-]+)/ };
const old = "hundredths()";

export default {
  after: { "src/report.rs": [[old, "cents()"]], "tests/parse.rs": [[old, "cents()"]] },
  paddock: [
    call("replace", args, { says: ["src/report.rs", "src/export/json.rs", "tests/parse.rs"] }),
    call("replace", { ...args, exclude_paths: ["src/export/json.rs"] }, {
      take,
      otherwise: [
        call("replace", { ...args, path: "src/report.rs" }, { take }),
        call("replace", { ...args, path: "src/report.rs", plan: "{plan}" }),
        call("replace", { ...args, path: "tests/parse.rs" }, { take }),
        call("replace", { ...args, path: "tests/parse.rs", plan: "{plan}" }),
      ],
    }),
    call("replace", { ...args, exclude_paths: ["src/export/json.rs"], plan: "{plan}" }),
  ],
};
