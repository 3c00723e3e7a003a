// One edit beside the path, not in the list.
import { call, edit, wrong } from "../calls.js";

export default {
  mistake: true,
  after: { "src/lib.rs": [["100_000", "50_000"]] },
  paddock: [
    wrong("edit_file", { path: "src/lib.rs", old_text: "100_000", new_text: "50_000" }, { says: "edits" }),
    call("edit_file", edit.paddock("src/lib.rs", ["100_000", "50_000"])),
  ],
};
