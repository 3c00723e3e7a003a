// A file that is to be made exists, and is to be replaced.
import { call, wrong } from "../calls.js";

const content = "# ledger\n\nBooks in plain text.\n";

export default {
  mistake: true,
  after: { "README.md": content },
  paddock: [wrong("write_file", { path: "README.md", content, create_only: true }, { says: "create_only" }), call("write_file", { path: "README.md", content })],
};
