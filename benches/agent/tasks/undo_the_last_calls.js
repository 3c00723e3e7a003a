// The last two calls, which changed three files, are undone.
import { call, edit } from "../calls.js";

const changes = [
  call("edit_file", edit.paddock("src/lib.rs", ["100_000", "50_000"])),
  call("replace", { pattern: "text files", replacement: "files", fixed: true }, { take: { plan: /plan[=: `"]+([\w-]+)/ } }),
  call("replace", { pattern: "text files", replacement: "files", fixed: true, plan: "{plan}" }),
];

export default {
  facts: [/(?:restored|undid|undone)/],
  paddock: [
    ...changes,
    call("restore", { last: 2 }, {
      otherwise: [call("restore", { path: "Cargo.toml" }), call("restore", { path: "README.md" }), call("restore", { path: "src/lib.rs" }), call("restore", { path: "src/lib.rs" })],
    }),
  ],
};
