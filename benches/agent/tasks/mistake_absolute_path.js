// An absolute path of another machine.
import { call, EDITOR, wrong } from "../calls.js";

const says = /relative/;

export default {
  mistake: true,
  facts: ["Case of the guide"],
  start: { "docs/case.md": "# Case of the guide\n" },
  paddock: [wrong("read_file", { path: "/home/user/ledger/docs/case.md" }, { says }), call("read_file", { path: "docs/case.md" })],
  codex: [wrong("read_file", { file_path: "/home/user/ledger/docs/case.md" }, { says }), call("read_file", { file_path: "docs/case.md" }, { otherwise: [call("read_file", { file_path: "{root}/docs/case.md" })] })],
  anthropic: [wrong(EDITOR, { command: "view", path: "/home/user/ledger/docs/case.md" }, { says }), call(EDITOR, { command: "view", path: "docs/case.md" })],
  "mcp-filesystem": [wrong("read_text_file", { path: "/home/user/ledger/docs/case.md" }, { says }), call("read_text_file", { path: "docs/case.md" })],
  reference: [
    wrong("read_text_file", { path: "/home/user/ledger/docs/case.md" }, { take: { root: /not in (\S+)/ } }),
    call("read_text_file", { path: "{root}/docs/case.md" }),
  ],
};
