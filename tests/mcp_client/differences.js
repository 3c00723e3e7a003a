// The deliberate differences from the reference file system server. `reference` and `paddock` are a row of the table in
// `host/guide/src/dialects.md`, and `why` is the reason. `holds` returns whether two answers and trees differ in this
// way and in no other.

import { difference, sorted, sortedTree } from "./trees.js";

const ERROR = /^MCP error -?\d+: |^Tool .* not found/;
const DENIED = /^Access denied - /;
const GLOBS = ["search_files", "directory_tree"];

/** Returns whether Paddock refused the call with this message, and the reference server did not. */
const isRefused = (theirs, ours, words) => !theirs.isError && ours.isError && words.test(ours.text);
const haveEqualTrees = (theirs, ours) => difference(theirs.tree, ours.tree).length === 0;
const isUnchanged = (call, ours) => difference(call.before, ours.tree).length === 0;
const globsOf = ({ args }) => [args.pattern, ...[args.excludePatterns ?? []].flat()].filter((glob) => typeof glob === "string");
const pathsOf = ({ args }) => [args.path, args.source, args.destination, ...(args.paths ?? [])].filter((path) => typeof path === "string");

/** Returns the lines of a listing, without the sizes and totals, which differ for links and directories. */
function withoutSizes(text) {
  return sorted(text.replace(/ +(\d[\d.]* [KMGT]?B)?$/gm, "").replace(/^Combined size:.*$/m, ""));
}

/** Returns the text of a file, independent of its encoding and line endings. */
function plain(bytes) {
  const utf16 = bytes.startsWith("\xff\xfe") ? Buffer.from(bytes, "latin1").toString("utf16le") : undefined;
  const text = utf16 ?? Buffer.from(bytes, "latin1").toString("utf8");
  return text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
}

/** Returns whether two trees differ only in line endings, byte order marks and encodings of files. */
function haveEqualTexts(theirs, ours) {
  const paths = new Set([...theirs.tree.entries.keys(), ...ours.tree.entries.keys()]);
  return [...paths].every((path) => {
    const [one, other] = [theirs.tree.entries.get(path), ours.tree.entries.get(path)];
    if (one === other) return true;
    if (!one?.startsWith("file ") || !other?.startsWith("file ")) return false;
    const split = (entry) => [entry.slice(0, 8), plain(entry.slice(9))];
    return JSON.stringify(split(one)) === JSON.stringify(split(other));
  });
}

/** Applies the hunks of a diff to a text. Returns `undefined` if they do not fit the text. */
function patched(text, diff) {
  const lines = text.split(/(?<=\n)/);
  let [out, from] = [[], 0];
  const hunks = diff.split(/^(?=@@ -\d)/m).slice(1);
  for (const hunk of hunks) {
    const [head, ...body] = hunk.replace(/`{3,}\n\n$/, "").split(/(?<=\n)/);
    const [, start, count] = head.match(/^@@ -(\d+),(\d+) /).map(Number);
    const at = count === 0 ? start : start - 1;
    out.push(...lines.slice(from, at));
    from = at;
    for (let index = 0; index < body.length; index += 1) {
      const isOpen = body[index + 1]?.startsWith("\\");
      const line = isOpen ? body[index].slice(1, -1) : body[index].slice(1);
      if (body[index].startsWith("\\")) continue;
      if (!body[index].startsWith("+") && lines[from++] !== line) return undefined;
      if (!body[index].startsWith("-")) out.push(line);
    }
  }
  return [...out, ...lines.slice(from)].join("");
}

/** Returns results for several files, without the texts of their failures. */
const withoutFailures = (text) => text.replace(/: Error - .*$/gm, ": Error");

/**
 * Returns the information about an entry that both servers report. Times of entries that a call has changed can differ.
 */
const common = (text, isChanged, isDirectory) =>
  text
    .split("\n")
    .filter((line) => !/^(created|accessed|permissions): /.test(line) && !(isDirectory && /^size: /.test(line)))
    .map((line) => (isChanged ? line.replace(DATE, "modified: ") : line))
    .join("\n");

const DATE = /^modified: \w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT\+0000 \(Coordinated Universal Time\)$/;

export const DIFFERENCES = [
  {
    id: "home",
    reference: "expands `~` to the home directory",
    paddock: "refuses a path that starts with `~/`",
    why: "the component does not know the home directory",
    holds: (call, theirs, ours) => pathsOf(call).some((path) => /^~(\/|$)/.test(path)) && theirs.isError && ours.isError && /`~` is not expanded/.test(ours.text) && isUnchanged(call, ours),
  },
  {
    id: "order",
    reference: "lists entries in the order of the file system or of the locale",
    paddock: "lists entries by name",
    why: "the same call has the same answer on every machine",
    holds: ({ tool, args }, theirs, ours) => {
      const order = tool === "directory_tree" ? sortedTree : sorted;
      const isList = ["list_directory", "list_directory_with_sizes", "directory_tree", "search_files"].includes(tool);
      if (!isList || args.sortBy === "size" || theirs.isError || ours.isError) return false;
      return order(theirs.text) === order(ours.text) && haveEqualTrees(theirs, ours);
    },
  },
  {
    id: "words",
    reference: "reports a failure in the words of Node.js; says where a forbidden link leads",
    paddock: "says what failed and what would work; says that the link leads outside, and nothing else",
    why: "a model acts on the message in its next call",
    holds: (call, theirs, ours) => {
      const isMentioned = /\/etc\/passwd|outside\.txt|-evil/.test(ours.text) && !/passwd|outside|evil/.test(JSON.stringify(call.args));
      if (!haveEqualTrees(theirs, ours) || isMentioned) return false;
      if (call.tool === "read_multiple_files" && !theirs.isError && !ours.isError) return withoutFailures(theirs.text) === withoutFailures(ours.text);
      if (!theirs.isError || !ours.isError) return false;
      const isInvalid = /cannot contain|longer than|is empty|up by `\.\.`/.test(ours.text);
      return ERROR.test(theirs.text) || !DENIED.test(theirs.text) || DENIED.test(ours.text) || isInvalid || !/\/$|\.\.$/.test(theirs.text);
    },
  },
  {
    id: "tail",
    reference: "counts an empty line after the last newline (`tail`)",
    paddock: "the last line of a file is its last line",
    why: "`tail: 1` of nearly every file would be empty",
    holds: ({ args }, theirs, ours) => {
      if (!(args.tail > 0) || theirs.isError || ours.isError || !ours.text.endsWith("\n")) return false;
      const [few, more] = [theirs.text.replace(/^\ufeff/, ""), ours.text];
      return few === more || few === more.slice(more.indexOf("\n") + 1);
    },
  },
  {
    id: "byte order mark",
    reference: "shows a byte order mark as a character",
    paddock: "keeps it in the file, and does not show it",
    why: "text of an edit would have to begin with an invisible character",
    holds: ({ tool }, theirs, ours) =>
      ["read_text_file", "read_file", "read_multiple_files", "edit_file"].includes(tool) && !theirs.isError && !ours.isError && theirs.text.replaceAll("\ufeff", "") === ours.text && haveEqualTrees(theirs, ours),
  },
  {
    id: "bytes",
    reference: "writes CRLF files back with LF",
    paddock: "keeps line endings, encoding and byte order mark",
    why: "an edit changes no byte that it was not asked to change",
    holds: ({ tool }, theirs, ours) =>
      ["edit_file", "write_file"].includes(tool) && !theirs.isError && !ours.isError && theirs.text.replaceAll("\ufeff", "") === ours.text && haveEqualTexts(theirs, ours),
  },
  {
    id: "encoding",
    reference: "decodes every file as UTF-8, and writes what it could not decode back as `U+FFFD`",
    paddock: "detects the encoding, and writes text back in it",
    why: "an edit would destroy the text",
    holds: ({ tool, args, before }, theirs, ours) => {
      const isOther = pathsOf({ args }).some((path) => /latin1|utf16/.test(path));
      if (!isOther || ours.isError || !["read_text_file", "read_multiple_files", "edit_file"].includes(tool)) return false;
      const changed = difference(before, ours.tree);
      return !ours.text.includes("\ufffd") && changed.every((line) => /^(latin1|utf16)\.txt: /.test(line));
    },
  },
  {
    id: "binary",
    reference: "shows any bytes as text",
    paddock: "refuses bytes that are not text; `read_media_file` returns them",
    why: "the text could not be written back",
    holds: (call, theirs, ours) => {
      if (call.tool === "read_multiple_files") return !ours.isError && /Error - .*binary/.test(ours.text);
      return isUnchanged(call, ours) && ours.isError && /binary/.test(ours.text) && ["read_text_file", "read_file", "edit_file"].includes(call.tool);
    },
  },
  {
    id: "several matches",
    reference: "replaces the first of several matches",
    paddock: "`edit_file` refuses, and names the lines of all matches",
    why: "the first match may not be the intended one",
    holds: (call, theirs, ours) => call.tool === "edit_file" && isRefused(theirs, ours, /`oldText` occurs .*\d times|does not occur exactly, and .* it occurs \d+ times, at lines \d+|differs only in .*nearest .*line \d+: .*line \d+: /s) && isUnchanged(call, ours),
  },
  {
    id: "diff",
    reference: "chooses one of several diffs of the same length",
    paddock: "may choose another",
    why: "both are the same change",
    holds: ({ tool, args, before }, theirs, ours) => {
      if (tool !== "edit_file" || theirs.isError || ours.isError || !haveEqualTrees(theirs, ours)) return false;
      const path = theirs.text.match(/^--- \{w\}\/(.*)\toriginal$/m)?.[1];
      const text = before.file(path)?.replaceAll("\r\n", "\n");
      const results = [theirs, ours].map((answer) => text !== undefined && patched(text, answer.text));
      return typeof results[0] === "string" && results[0] === results[1] && (args.dryRun || results[0] === ours.tree.file(path));
    },
  },
  {
    id: "same text",
    reference: "accepts an edit whose `newText` is its `oldText`, and a call without edits",
    paddock: "refuses",
    why: "the edit was meant to change something",
    holds: (call, theirs, ours) => call.tool === "edit_file" && isRefused(theirs, ours, /are the same; leave this edit out|`edits`: the list is empty/) && isUnchanged(call, ours),
  },
  {
    id: "blank lines",
    reference: "finds a blank line of `oldText` at the end of every file, and white space alone in any blank line",
    paddock: "refuses where the text is not there",
    why: "there is no such line",
    holds: (call, theirs, ours) =>
      call.tool === "edit_file" && isRefused(theirs, ours, /^Could not find exact match/) && call.args.edits.some(({ oldText }) => oldText.split("\n").at(-1).trim() === "") && isUnchanged(call, ours),
  },
  {
    id: "U+FEFF",
    reference: "takes `U+FEFF` as white space around a line of `oldText`",
    paddock: "it is a character",
    why: "the white space of Unicode",
    holds: (call, theirs, ours) =>
      call.tool === "edit_file" && isRefused(theirs, ours, /^Could not find exact match/) && call.args.edits.some(({ oldText }) => /^\ufeff|\ufeff$/m.test(oldText)) && isUnchanged(call, ours),
  },
  {
    id: "CR",
    reference: "takes a file whose lines end in CR alone as one line",
    paddock: "CR ends a line of a file without LF",
    why: "as in every tool",
    holds: (call, theirs, ours) =>
      call.tool === "read_text_file" && pathsOf(call).some((path) => path.endsWith("cr alone.txt")) && !theirs.isError && !ours.isError && theirs.text.startsWith("one\rtwo") && /^(one|three)\r?$/.test(ours.text),
  },
  {
    id: "empty oldText",
    reference: "inserts before the first character where `oldText` is empty",
    paddock: "refuses",
    why: "an empty text is at every place",
    holds: (call, theirs, ours) => call.tool === "edit_file" && isRefused(theirs, ours, /`oldText` is empty/) && isUnchanged(call, ours),
  },
  {
    id: "missing directories",
    reference: "`write_file` and `move_file` need the directory to exist",
    paddock: "creates missing directories",
    why: "saves a call; the answer of a mistake in a path is the same as that of `create_directory`",
    holds: ({ tool }, theirs, ours) => ["write_file", "move_file"].includes(tool) && theirs.isError && !ours.isError && /^ENOENT: /.test(theirs.text) && /^Successfully /.test(ours.text),
  },
  {
    id: "protected",
    reference: "writes `.git/hooks`, `.vscode` and similar paths",
    paddock: "refuses to write [protected paths](security.md#promises)",
    why: "programs of the user run what is there",
    holds: (call, theirs, ours) => ours.isError && /is protected/.test(ours.text) && isUnchanged(call, ours),
  },
  {
    id: "columns",
    reference: "pads a name to 30 UTF-16 code units",
    paddock: "pads it to 30 characters",
    why: "a name is of characters",
    holds: ({ tool }, theirs, ours) => tool === "list_directory_with_sizes" && !ours.isError && sorted(theirs.text).replace(/ +/g, " ") === sorted(ours.text).replace(/ +/g, " "),
  },
  {
    id: "sizes",
    reference: "lists the size of a link's target, also of one outside, and sorts directories by the size of their inode",
    paddock: "links and directories have no size",
    why: "a listing follows no link",
    holds: ({ tool, args }, theirs, ours) => {
      if (tool !== "list_directory_with_sizes" || theirs.isError || ours.isError) return false;
      const size = (text) => [...text.matchAll(/^\[FILE\] .* (\d[\d.]*) ([KMGT]?B)$/gm)].map(([, size, unit]) => size * 1_024 ** ["B", "KB", "MB", "GB", "TB"].indexOf(unit));
      const isSorted = size(ours.text).every((size, index, all) => index === 0 || size <= all[index - 1]);
      return withoutSizes(theirs.text) === withoutSizes(ours.text) && (args.sortBy !== "size" || isSorted);
    },
  },
  {
    id: "information",
    reference: "returns creation time and mode in `get_file_info`, and a size for directories",
    paddock: "returns `unknown`, because WASI reports neither, and 0",
    why: "the component imports WASI only",
    holds: ({ tool }, theirs, ours) => {
      const isDirectory = /^isDirectory: true$/m.test(theirs.text);
      if (tool !== "get_file_info" || theirs.isError || ours.isError || !/^permissions: \d\d\d$/m.test(theirs.text)) return false;
      const isChanged = [theirs, ours].some(({ text }) => !/^modified: .* 2023 /m.test(text));
      const [one, other] = [theirs, ours].map(({ text }) => common(text, isChanged, isDirectory));
      return /^created: unknown$/m.test(ours.text) && /^permissions: unknown$/m.test(ours.text) && one === other;
    },
  },
  {
    id: "large files",
    reference: "reads and edits files of any size whole",
    paddock: "returns at most 10 MiB of text or bytes in one call, and names `head` and `tail`; edits files of at most 10 MiB",
    why: "many clients hang up at such an answer, and a sandbox has limited memory",
    holds: (call, theirs, ours) => pathsOf(call).some((path) => path.startsWith("{large}")) && !theirs.isError && /10485760/.test(ours.text) && isUnchanged(call, ours),
  },
  {
    id: "large directories",
    reference: "lists any number of entries",
    paddock: "lists at most 10,000 entries, and then says so; `directory_tree` refuses more",
    why: "an answer has a limited size",
    holds: ({ args }, theirs, ours) => {
      if (args.path !== "{large}/many" || theirs.isError) return false;
      if (ours.isError) return /more than 10000 entries/.test(ours.text);
      const all = new Set(theirs.text.split("\n"));
      const listed = ours.text.split("\n").filter((line) => all.has(line));
      return listed.length >= 10_000 && /\[there are more entries than one call lists/.test(ours.text);
    },
  },
  {
    id: "up and back",
    reference: "resolves `..` in the text of a path, which can lead out of a directory and back",
    paddock: "follows a path name by name, and never out of a root",
    why: "the text of a path does not say where it leads through links",
    holds: (call, theirs, ours) => isRefused(theirs, ours, /`\.\.` leads out of the root/) && isUnchanged(call, ours),
  },
  {
    id: "moved links",
    reference: "`move_file` moves the target of a link, and leaves the link dangling",
    paddock: "moves the link",
    why: "as `mv` does",
    holds: ({ tool, args, before }, theirs, ours) =>
      tool === "move_file" && !ours.isError && [...before.entries].some(([path, entry]) => entry.startsWith("link") && args.source.endsWith(path) && !ours.tree.entries.has(path)),
  },
  {
    id: "names of two forms",
    reference: "finds a name in its other Unicode normal form",
    paddock: "each form is a name of its own; the failure names the one that exists",
    why: "a directory can have both",
    holds: ({ args, tool }, theirs, ours) =>
      pathsOf({ args }).some((path) => path.includes("\u00e9")) && !theirs.isError && (tool === "write_file" ? !ours.isError : ours.isError && ours.text.includes("e\u0301")),
  },
  {
    id: "empty path",
    reference: "takes an empty path as the first directory",
    paddock: "refuses; `.` is the first directory",
    why: "a path was probably left out",
    holds: (call, theirs, ours) => isRefused(theirs, ours, /the path is empty/) && isUnchanged(call, ours),
  },
  {
    id: "slash after a file",
    reference: "reads and writes `a.txt` by `a.txt/`",
    paddock: "says that it is not a directory",
    why: "as every program does",
    holds: (call, theirs, ours) => pathsOf(call).some((path) => path.endsWith("/")) && isRefused(theirs, ours, /not a directory/) && isUnchanged(call, ours),
  },
  {
    id: "unknown arguments",
    reference: "ignores unknown arguments",
    paddock: "refuses them, and names the known ones",
    why: "the caller meant something by them",
    holds: (call, theirs, ours) => isRefused(theirs, ours, /^unknown argument/) && isUnchanged(call, ours),
  },
  {
    id: "FIFO",
    reference: "finds FIFOs, sockets and devices by `search_files`",
    paddock: "leaves them out",
    why: "no tool reads them",
    holds: (call, theirs, ours) =>
      call.tool === "search_files" && !theirs.isError && !ours.isError && sorted(theirs.text.replace(/^.*\/pipe$/m, "")).trim() === sorted(ours.text).trim() && theirs.text !== ours.text,
  },
  {
    id: "notes",
    reference: "answers `No matches found`, and nothing else",
    paddock: "adds what may have been meant, such as `src/**/*` for `src/*`",
    why: "saves a search",
    holds: ({ tool }, theirs, ours) => tool === "search_files" && theirs.text === "No matches found" && !ours.isError && /^No matches found\n\[[^\]]*\]$/.test(ours.text),
  },
  {
    id: "types",
    reference: "refuses `\"3\"` for a number, and a text for a list",
    paddock: "takes them where they have one meaning",
    why: "saves a call",
    holds: ({ args }, theirs, ours) => theirs.isError && /Invalid arguments/.test(theirs.text) && !ours.isError && (typeof args.head === "string" || typeof args.excludePatterns === "string"),
  },
  {
    id: "counts",
    reference: "takes negative numbers and fractions of lines",
    paddock: "refuses them",
    why: "they have no meaning",
    holds: ({ args }, theirs, ours) => [args.head, args.tail].some((count) => count < 0 || count % 1 !== 0) && isRefused(theirs, ours, /has to be a whole number/),
  },
  {
    id: "glob syntax",
    reference: "knows `!`, `@(…)`, `{1..3}`, `[[:alpha:]]` and `\\` in globs",
    paddock: "refuses them by name; `{a,b}` and `[a-z]` are known",
    why: "one syntax of globs in every tool",
    holds: (call, theirs, ours) => GLOBS.includes(call.tool) && globsOf(call).length > 0 && !theirs.isError && ours.isError && /a glob has no|a glob cannot contain a backslash/.test(ours.text),
  },
  {
    id: "unclosed globs",
    reference: "takes an unclosed `[` or `{` as a character, so that `*[*` matches `a[1].txt`",
    paddock: "refuses it",
    why: "it is nearly always a mistake; `[[]` matches a bracket",
    holds: (call, theirs, ours) => GLOBS.includes(call.tool) && isRefused(theirs, ours, /unclosed/),
  },
  {
    id: "globs without a match",
    reference: "matches nothing by a glob that is empty, is absolute or goes up by `..`",
    paddock: "refuses it",
    why: "a model would believe that there is no file",
    holds: (call, theirs, ours) => GLOBS.includes(call.tool) && isRefused(theirs, ours, /the glob is empty|not an absolute path|does not go up by/),
  },
  {
    id: "empty globs",
    reference: "excludes everything from a tree by an empty glob",
    paddock: "an empty glob excludes nothing",
    why: "as in a search",
    holds: ({ tool, args }, theirs, ours) => tool === "directory_tree" && [args.excludePatterns].flat().includes("") && theirs.text === "[]" && !ours.isError,
  },
  {
    id: "comments and braces",
    reference: "takes a glob that starts with `#` as a comment, and `{a}` as a literal text",
    paddock: "`#` is a character, and `{a}` is `a`",
    why: "one syntax of globs in every tool",
    holds: (call, theirs, ours) => GLOBS.includes(call.tool) && !theirs.isError && !ours.isError && globsOf(call).some((glob) => /^#|\{[^,}]*\}/.test(glob)),
  },
  {
    id: "slashes in globs",
    reference: "matches nothing by a glob that starts or ends in `/`, or has `./` or `//` in it",
    paddock: "takes `src/` as `src/**`, and the others without these",
    why: "a model would believe that there is no file",
    holds: (call, theirs, ours) => GLOBS.includes(call.tool) && !theirs.isError && !ours.isError && globsOf(call).some((glob) => /^\/|\/$|^\.\/|\/\.\/|\/\//.test(glob)),
  },
];
