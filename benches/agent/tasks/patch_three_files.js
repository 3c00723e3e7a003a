// A new field goes through three files.
const edits = {
  "src/entry.rs": [
    ["    pub text: String,\n", "    pub text: String,\n    pub tags: Vec<String>,\n"],
    ["Entry { line, date, text, postings: Vec::new() }", "Entry { line, date, text, tags: Vec::new(), postings: Vec::new() }"],
  ],
  "src/export/csv.rs": [
    ["\"date,text,account,amount\\n\"", "\"date,text,tags,account,amount\\n\""],
    ["            let text = quote(&entry.text);\n", "            let text = quote(&entry.text);\n            let tags = quote(&entry.tags.join(\" \"));\n"],
    ["{text},{},{}\\n\"", "{text},{tags},{},{}\\n\""],
  ],
  "docs/guide.md": [["The first line has the date and the text.", "The first line has the date, the text and tags such as `#home`."]],
};
const files = Object.keys(edits);

export default {
  after: edits,
  paddock: [
    { tool: "read_files", args: { paths: files } },
    {
      tool: "apply_patch",
      args: {
        patch: `*** Begin Patch
*** Update File: src/entry.rs
@@
     pub text: String,
+    pub tags: Vec<String>,
     pub postings: Vec<Posting>,
@@
-        Entry { line, date, text, postings: Vec::new() }
+        Entry { line, date, text, tags: Vec::new(), postings: Vec::new() }
*** Update File: src/export/csv.rs
@@
-    let mut out = String::from("date,text,account,amount\\n");
+    let mut out = String::from("date,text,tags,account,amount\\n");
@@
             let text = quote(&entry.text);
-            out.push_str(&format!("{year}-{month:02}-{day:02},{text},{},{}\\n", posting.account, posting.amount));
+            let tags = quote(&entry.tags.join(" "));
+            out.push_str(&format!("{year}-{month:02}-{day:02},{text},{tags},{},{}\\n", posting.account, posting.amount));
*** Update File: docs/guide.md
@@
-The first line has the date and the text. Each further line is a posting: an
+The first line has the date, the text and tags such as \`#home\`. Each further line is a posting: an
*** End Patch
`,
      },
    },
  ],
  get codex() {
    return [...files.map((file) => ({ tool: "read_file", args: { file_path: `{root}/${file}` } })), { tool: "apply_patch", args: { input: this.paddock[1].args.patch } }];
  },
  anthropic: files.flatMap((path) => [
    { tool: "str_replace_based_edit_tool", args: { command: "view", path } },
    ...edits[path].map(([old_str, new_str]) => ({ tool: "str_replace_based_edit_tool", args: { command: "str_replace", path, old_str, new_str } })),
  ]),
  reference: [
    { tool: "read_multiple_files", args: { paths: files.map((file) => `{root}/${file}`) } },
    ...files.map((file) => ({ tool: "edit_file", args: { path: `{root}/${file}`, edits: edits[file].map(([oldText, newText]) => ({ oldText, newText })) } })),
  ],
};
