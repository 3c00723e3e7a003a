// Of two edits both are wrong: the error says so of both, and one further call corrects both.
import { call, edit, wrong } from "../calls.js";

const exact = [["pub const MAX_ENTRIES: usize = 100_000;", "pub const MAX_ENTRIES: usize = 50_000;"], ["pub use book::Book;", "pub use book::{Book, Balance};"]];
const copied = [["pub const MAX_ENTRIES: u64 = 100_000;", exact[0][1]], ["pub use crate::book::Book;", exact[1][1]]];

export default {
  mistake: true,
  after: { "src/lib.rs": exact },
  paddock: [
    wrong("edit_file", edit.paddock("src/lib.rs", ...copied), {
      says: ["pub const MAX_ENTRIES: usize = 100_000;", /[`"]pub use book::Book;[`"]/],
      otherwise: [wrong("edit_file", edit.paddock("src/lib.rs", exact[0], copied[1])), call("edit_file", edit.paddock("src/lib.rs", ...exact))],
    }),
    call("edit_file", edit.paddock("src/lib.rs", ...exact)),
  ],
};
