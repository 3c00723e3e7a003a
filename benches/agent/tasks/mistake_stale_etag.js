// The file has changed since it was read. The error has the present etag, so the change can be made again.
import { call, edit, wrong } from "../calls.js";

const args = edit.paddock("src/lib.rs", ["100_000", "50_000"]);

export default {
  mistake: true,
  after: { "src/lib.rs": [["100_000", "50_000"]] },
  paddock: [
    wrong("edit_file", { ...args, if_match: "0123456789abcdef" }, { take: { etag: /etag\W+(?:is\W+|now\W+)*([0-9a-f]{4,16})/ } }),
    call("edit_file", { ...args, if_match: "{etag}" }),
  ],
};
