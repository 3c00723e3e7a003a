// Three places of one file change: an import, a body, and a new method.
const edits = [
  ["use crate::entry::{Date, Entry, Posting};", "use crate::entry::{Date, Entry, Posting};\nuse crate::report;"],
  [
    "        if self.entries.len() >= MAX_ENTRIES {\n            return Err(Error::TooMany { max: MAX_ENTRIES });",
    "        if self.is_full() {\n            return Err(Error::TooMany { max: MAX_ENTRIES });",
  ],
  [
    "    /// Checks every entry, and returns the first error.",
    "    pub fn is_full(&self) -> bool {\n        self.entries.len() >= MAX_ENTRIES\n    }\n\n    /// Checks every entry, and returns the first error.",
  ],
];

export default {
  after: { "src/book.rs": edits },
  paddock: [
    { tool: "read_file", args: { path: "src/book.rs" } },
    { tool: "edit_file", args: { path: "src/book.rs", edits: edits.map(([old_text, new_text]) => ({ old_text, new_text })) } },
  ],
  codex: [
    { tool: "read_file", args: { file_path: "{root}/src/book.rs" } },
    {
      tool: "apply_patch",
      args: {
        input: `*** Begin Patch
*** Update File: src/book.rs
@@
 use crate::entry::{Date, Entry, Posting};
+use crate::report;
 use crate::error::{Error, Result};
@@
         entry.check()?;
-        if self.entries.len() >= MAX_ENTRIES {
+        if self.is_full() {
             return Err(Error::TooMany { max: MAX_ENTRIES });
@@
         balances
     }
 
+    pub fn is_full(&self) -> bool {
+        self.entries.len() >= MAX_ENTRIES
+    }
+
     /// Checks every entry, and returns the first error.
*** End Patch
`,
      },
    },
  ],
  anthropic: [
    { tool: "str_replace_based_edit_tool", args: { command: "view", path: "src/book.rs" } },
    ...edits.map(([old_str, new_str]) => ({ tool: "str_replace_based_edit_tool", args: { command: "str_replace", path: "src/book.rs", old_str, new_str } })),
  ],
  reference: [
    { tool: "read_text_file", args: { path: "{root}/src/book.rs" } },
    { tool: "edit_file", args: { path: "{root}/src/book.rs", edits: edits.map(([oldText, newText]) => ({ oldText, newText })) } },
  ],
};
