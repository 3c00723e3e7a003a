// Two arguments that exclude each other.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: ["pub fn export(book: &Book"],
  paddock: [
    wrong("grep", { pattern: "pub fn export", context: 1, before: 2 }, { says: ["context", "before", "after"] }),
    call("grep", { pattern: "pub fn export", before: 2 }),
  ],
};
