// An edit turns out to be wrong, and is undone.
const [old, wrong] = ["pub const MAX_ENTRIES: usize = 100_000;", "pub const MAX_ENTRIES: usize = 1_000;"];
const str_replace = (old_str, new_str) => ({ tool: "str_replace_based_edit_tool", args: { command: "str_replace", path: "src/lib.rs", old_str, new_str } });
const patch = (a, b) => ({ tool: "apply_patch", args: { input: `*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-${a}\n+${b}\n*** End Patch\n` } });
const edit = (oldText, newText) => ({ tool: "edit_file", args: { path: "{root}/src/lib.rs", edits: [{ oldText, newText }] } });

export default {
  facts: ["lib.rs"],
  paddock: [
    { tool: "edit_file", args: { path: "src/lib.rs", edits: [{ old_text: old, new_text: wrong }] } },
    { tool: "restore", args: { path: "src/lib.rs" } },
  ],
  codex: [patch(old, wrong), patch(wrong, old)],
  anthropic: [str_replace(old, wrong), { tool: "restore", args: { path: "src/lib.rs" }, otherwise: [str_replace(wrong, old)] }],
  reference: [edit(old, wrong), edit(wrong, old)],
};
