// A hook below `.git`, which is protected: the file goes elsewhere.
import { call, EDITOR, wrong } from "../calls.js";

const content = "#!/bin/sh\ncargo test\n";
const says = /protected/;

export default {
  mistake: true,
  after: { "hooks/pre-commit": content },
  paddock: [wrong("write_file", { path: ".git/hooks/pre-commit", content }, { says }), call("write_file", { path: "hooks/pre-commit", content })],
  codex: [
    wrong("apply_patch", { input: "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+#!/bin/sh\n+cargo test\n*** End Patch\n" }, { says }),
    call("apply_patch", { input: "*** Begin Patch\n*** Add File: hooks/pre-commit\n+#!/bin/sh\n+cargo test\n*** End Patch\n" }),
  ],
  anthropic: [
    wrong(EDITOR, { command: "create", path: ".git/hooks/pre-commit", file_text: content }, { says }),
    call(EDITOR, { command: "create", path: "hooks/pre-commit", file_text: content }),
  ],
};
