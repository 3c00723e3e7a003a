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
      // A second undo of `src/lib.rs` would undo the first one, so the first change is made in reverse.
      otherwise: [...["Cargo.toml", "README.md", "src/lib.rs"].map((path) => call("restore", { path })), call("edit_file", edit.paddock("src/lib.rs", ["50_000", "100_000"]))],
    }),
  ],
};
