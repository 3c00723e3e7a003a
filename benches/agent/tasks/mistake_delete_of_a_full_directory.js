// A directory that is not empty.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  after: { "docs/guide.md": null },
  paddock: [wrong("delete", { path: "docs" }, { says: "recursive" }), call("delete", { path: "docs", recursive: true })],
};
