// A path that begins with the name of the workspace, or with a directory where other harnesses mount it.
import { call, EDITOR, wrong } from "../calls.js";

const take = { path: /`(?:\/home\/me\/ledger\/)?(docs\/guide\.md)`/ };

export default {
  mistake: true,
  facts: ["The first line has the date and the text."],
  paddock: [
    wrong("read_file", { path: "/workspace/ledger/docs/guide.md", limit: 12 }, { take, otherwise: [call("glob", { pattern: "guide.md" }), call("read_file", { path: "docs/guide.md", limit: 12 })] }),
    call("read_file", { path: "{path}", limit: 12 }),
  ],
  codex: [
    wrong("read_file", { file_path: "{root}/ledger/docs/guide.md", limit: 12 }, { take, otherwise: [call("list_dir", { dir_path: "{root}", depth: 1 }), call("read_file", { file_path: "{root}/docs/guide.md", limit: 12 })] }),
    call("read_file", { file_path: "{root}/{path}", limit: 12 }),
  ],
  anthropic: [
    wrong(EDITOR, { command: "view", path: "/repo/docs/guide.md" }, { says: "relative", otherwise: [call(EDITOR, { command: "view", path: "." }), call(EDITOR, { command: "view", path: "docs/guide.md" })] }),
    call(EDITOR, { command: "view", path: "docs/guide.md" }),
  ],
};
