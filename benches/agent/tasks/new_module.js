// A module is added: a new file, and its declaration in another.
const content = `//! Budgets: the most that an account may spend in a month.

use crate::account::Account;
use crate::amount::Amount;

/// A limit for one account.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    pub account: Account,
    pub limit: Amount,
}

impl Budget {
    /// Returns the amount that is left.
    pub fn left(&self, spent: Amount) -> Amount {
        self.limit + -spent
    }
}
`;

export default {
  after: { "src/budget.rs": content, "src/lib.rs": [["pub mod book;\n", "pub mod book;\npub mod budget;\n"]] },
  paddock: [
    { tool: "read_file", args: { path: "src/lib.rs" } },
    {
      tool: "apply_patch",
      args: {
        patch: `*** Begin Patch
*** Add File: src/budget.rs
${content.trimEnd().split("\n").map((line) => `+${line}`).join("\n")}
*** Update File: src/lib.rs
@@
 pub mod book;
+pub mod budget;
 pub mod entry;
*** End Patch
`,
      },
    },
  ],
  get codex() {
    return [{ tool: "read_file", args: { file_path: "{root}/src/lib.rs" } }, { tool: "apply_patch", args: { input: this.paddock[1].args.patch } }];
  },
  anthropic: [
    { tool: "str_replace_based_edit_tool", args: { command: "view", path: "src/lib.rs" } },
    { tool: "str_replace_based_edit_tool", args: { command: "create", path: "src/budget.rs", file_text: content } },
    { tool: "str_replace_based_edit_tool", args: { command: "insert", path: "src/lib.rs", insert_line: 5, insert_text: "pub mod budget;\n" } },
  ],
  reference: [
    { tool: "read_text_file", args: { path: "{root}/src/lib.rs" } },
    { tool: "write_file", args: { path: "{root}/src/budget.rs", content } },
    { tool: "edit_file", args: { path: "{root}/src/lib.rs", edits: [{ oldText: "pub mod book;", newText: "pub mod book;\npub mod budget;" }] } },
  ],
};
