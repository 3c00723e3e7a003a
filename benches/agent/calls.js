// Short forms of the calls that tasks are made of.

/** A call of any tool; `more` has `take`, `says` and `otherwise`. */
export const call = (tool, args, more) => ({ tool, args, ...more });

/** The same call as a mistake: its failure is part of the task, and the next step may use what its text says. */
export const wrong = (tool, args, more) => ({ ...call(tool, args, more), wrong: true });

/** The arguments of one replacement, by dialect. */
export const edit = {
  paddock: (path, ...pairs) => ({ path, edits: pairs.map(([old_text, new_text]) => ({ old_text, new_text })) }),
  anthropic: (path, [old_str, new_str]) => ({ command: "str_replace", path, old_str, new_str }),
  reference: (path, ...pairs) => ({ path: `{root}/${path}`, edits: pairs.map(([oldText, newText]) => ({ oldText, newText })) }),
};

/** The name of the only tool that views and edits in `anthropic`. */
export const EDITOR = "str_replace_based_edit_tool";

/** An envelope of Codex around the lines of an update. */
export const update = (path, ...lines) => `*** Begin Patch\n*** Update File: ${path}\n${lines.join("\n")}\n*** End Patch\n`;

/** What an error says of the path that was meant; `src/parser.rs` is near to several names. */
export const meant = (path) => new RegExp(`did you mean[^.]*?\`(?:\\S*/)?(${path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")})\``);
