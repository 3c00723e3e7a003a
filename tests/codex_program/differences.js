// Patches that both programs treat alike, and the deliberate differences, which the guide lists with their reasons.

import assert from "node:assert/strict";
import { posix } from "node:path";

const envelope = (...lines) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
const update = (...lines) => envelope("*** Update File: f", ...lines);

/** Fixed patches for which both programs have the same outcome. Generated patches rarely have these forms. */
export const SAME = [
  ["several files", { m: "1\n2\n", gone: "x\n" }, envelope("*** Add File: n/new", "+created", "*** Delete File: gone", "*** Update File: m", "@@", "-2", "+changed")],
  ["a move into a new directory", { "old/f": "a\n" }, envelope("*** Update File: old/f", "*** Move to: new/dir/g", "@@", "-a", "+b")],
  ["a move over a file", { f: "a\n", "d/g": "old\n" }, update("*** Move to: d/g", "@@", "-a", "+new")],
  ["a move of context alone", { f: "a\nb\n" }, update("*** Move to: g", "@@", " a", " b")],
  ["a move without a chunk", { f: "a\n" }, update("*** Move to: g")],
  ["two moves", { f: "a\n" }, update("*** Move to: g", "*** Move to: h", "@@", "-a")],
  ["an added file over a file", { f: "a\n" }, envelope("*** Add File: f", "+b")],
  ["an added file over a directory", { "d/f": "a\n" }, envelope("*** Add File: d", "+b")],
  ["an added file below a file", { f: "a\n" }, envelope("*** Add File: f/g", "+b")],
  ["an added file that is deleted", { f: "a\n" }, envelope("*** Add File: g", "+b", "*** Delete File: g")],
  ["a missing file is deleted", { f: "a\n" }, envelope("*** Delete File: g")],
  ["a directory is deleted", { "d/f": "a\n" }, envelope("*** Delete File: d")],
  ["a missing file is updated", { f: "a\n" }, envelope("*** Update File: g", "@@", "-a")],
  ["sections of one file", { f: "a\n" }, envelope("*** Update File: f", "@@", "-a", "+b", "*** Update File: ./f", "@@", "-b", "+c")],
  ["no section", { f: "a\n" }, "*** Begin Patch\n*** End Patch"],
  ["no chunk", { f: "a\n" }, update()],
  ["a chunk without lines", { f: "a\n" }, update("@@")],
  ["an end of file without lines", { f: "a\n" }, update("@@", "*** End of File")],
  ["an unknown header", { f: "a\n" }, envelope("*** Rename File: f")],
  ["no begin", { f: "a\n" }, "*** Update File: f\n@@\n-a\n*** End Patch"],
  ["no end", { f: "a\n" }, "*** Begin Patch\n*** Update File: f\n@@\n-a"],
  ["a doubled end", { f: "a\n" }, update("@@", "-a", "*** End Patch", "")],
  ["sections after the end", { f: "a\n" }, envelope("*** Add File: n", "+n", "*** End Patch", "*** Delete File: f")],
  ["an empty text", { f: "a\n" }, " \n"],
  ["a fenced patch", { f: "a\n" }, `\`\`\`\n${update("@@", "-a")}\n\`\`\``],
  ["a header in a context line", { f: "a\n*** Delete File: g\n", g: "x\n" }, update("@@", "-a", " *** Delete File: g")],
  ["an anchor of the wrong indentation", { f: "  def f\na\nb\na\n" }, update("@@ def f", "-a", "+x")],
  ["an anchor with ASCII quotes", { f: "“q”\na\nb\na\n" }, update('@@ "q"', "-a", "+x")],
  ["an anchor that is missing", { f: "a\n" }, update("@@ gone", "-a")],
  ["stacked anchors", { f: "class A\n def f\n  x\n" }, update("@@ class A", "@@  def f", "-  x")],
  ["stacked anchors, one missing", { f: "class A\n def f\n  x\n" }, update("@@ class B", "@@  def f", "-  x")],
  ["an anchor without a blank", { f: "a\n" }, update("@@a", "-a")],
  ["white space after @@", { f: "a\nb\n" }, update("@@ \t", "-a", "+x")],
  ["chunks against the order", { f: "a\nb\n" }, update("@@", "-b", "@@", "-a")],
  ["the end of the file", { f: "a\nb\na\n" }, update("@@", "-a", "+A", "*** End of File")],
  ["lines that are not at the end", { f: "a\nb\na\nc\n" }, update("@@", "-a", "+A", "*** End of File")],
  ["a chunk after the end of the file", { f: "a\nb\n" }, update("@@", "-b", "*** End of File", "", "@@", "+c")],
  ["lines after the end of the file", { f: "a\nb\n" }, update("@@", "-b", "*** End of File", "-a")],
  ["blank lines between chunks", { f: "a\nb\nc\n" }, update("@@", "-a", "+A", "", "@@", "-c", "+C")],
  ["two blank lines between chunks", { f: "a\nb\nc\n" }, update("@@", "-a", "+A", "", "", "@@", "-c", "+C")],
  ["a blank context line that is not there", { f: "a\nb\n" }, update("@@", "-b", "+B", " ")],
  ["only a blank context line", { f: "a\n" }, update("@@ a", " ", "+x")],
  ["a removed blank line that is not there", { f: "g\na\n" }, update("@@", "-", "+x", "+")],
  ["lines for an empty file", { f: "" }, update("@@", "+a", "+b")],
  ["lines after a last line without ending", { f: "a\nb" }, update("@@", " b", "+c")],
  ["lines after a blank last line", { f: "a\n\n" }, update("@@", "+c")],
  ["all lines removed", { f: "a\nb" }, update("@@", "-a", "-b")],
  ["CRLF kept", { f: "a\r\nb\r\nc" }, update("@@", " a", "-b", "+x", "+y", "@@", "-c", "+z")],
  ["mixed endings", { f: "a\r\nb\nc\r\nd\n" }, update("@@", " a", " b", "-c", "+C", " d")],
  ["CRLF in the patch", { f: "a\nb\n" }, update("@@", " a", "-b", "+x").replaceAll("\n", "\r\n")],
  ["white space of context lines kept", { f: "  a  \nb\nc\n" }, update("@@", " a", "-b", "+B")],
  ["Unicode punctuation", { f: "say “hi” – it’s\u00a0so\nb\n" }, update("@@", " say \"hi\" - it's so", "-b", "+B")],
  ["absolute paths", { f: "a\n", g: "x\n" }, envelope("*** Update File: {w}/f", "@@", "-a", "+b", "*** Delete File: {w}/g", "*** Add File: {w}/d/n", "+n")],
];

/** Error text of a refused chunk whose only anchor occurs several times. */
const AMBIGUOUS = /its anchor .* is at lines /;

const bothFail = (ours, theirs, name, ourText, theirText) => {
  assert.equal(ours.tree.get(name), ourText, "paddock");
  assert.equal(theirs.tree.get(name), theirText, "codex");
};

/**
 * Deliberate differences: each states the expected outcome of both programs. A value in a tree is a text, bytes, or the
 * target of a link.
 */
export const DIFFERENT = [
  {
    reason: "a patch is applied as a whole or not at all",
    tree: { f: "a\n" },
    patch: envelope("*** Add File: n", "+n", "*** Update File: f", "@@", "-b"),
    hold: (theirs, ours) => (assert.ok(!theirs.ok && !ours.ok), bothFail(ours, theirs, "n", undefined, "n\n")),
  },
  {
    reason: "lines that are only added come after the line that `@@` names",
    tree: { f: "a\nb\nc\n" },
    patch: update("@@ a", "+x"),
    hold: (theirs, ours) => bothFail(ours, theirs, "f", "a\nx\nb\nc\n", "a\nb\nc\nx\n"),
  },
  {
    reason: "lines that are only added are refused below a line that occurs several times",
    tree: { f: "def a():\n    pass\n\ndef a():\n    pass\n" },
    patch: update("@@ def a():", "+    x = 1"),
    hold: (theirs, ours) => {
      assert.ok(theirs.ok && !ours.ok);
      assert.match(ours.text, AMBIGUOUS);
    },
  },
  {
    reason: "a last line that the patch does not change gets no ending",
    tree: { f: "a\nb" },
    patch: update("@@", "-a", "+A"),
    hold: (theirs, ours) => bothFail(ours, theirs, "f", "A\nb", "A\nb\n"),
  },
  {
    reason: "a file that is moved to its own path is not deleted",
    tree: { f: "a\n" },
    patch: update("*** Move to: ./f", "@@", "-a", "+b"),
    hold: (theirs, ours) => (assert.ok(theirs.ok && ours.ok), bothFail(ours, theirs, "f", "b\n", undefined)),
  },
  {
    reason: "an environment ID is refused, because there is one environment",
    tree: { f: "a\n" },
    patch: envelope("*** Environment ID: other", "*** Delete File: f"),
    hold: (theirs, ours) => assert.ok(theirs.ok && !ours.ok && ours.tree.has("f")),
  },
  {
    reason: "here-documents that Codex takes in its shell tool are taken",
    tree: { f: "a\n" },
    patch: `apply_patch <<'PATCH'\n${update("@@", "-a", "+b")}\nPATCH\n`,
    hold: (theirs, ours) => (assert.ok(!theirs.ok && ours.ok), bothFail(ours, theirs, "f", "b\n", "a\n")),
  },
  {
    reason: "nothing outside of the workspace is written",
    tree: { f: "a\n" },
    patch: envelope("*** Add File: ../outside", "+x"),
    hold: (theirs, ours) => assert.ok(theirs.ok && !ours.ok),
  },
  {
    reason: "protected paths are not written",
    tree: { f: "a\n" },
    patch: envelope("*** Add File: .git/hooks/pre-commit", "+x"),
    hold: (theirs, ours) => assert.ok(theirs.ok && !ours.ok && !ours.tree.has(".git/hooks/pre-commit")),
  },
  {
    reason: "a new file does not replace a link or its target",
    tree: { f: "a\n", link: { target: "f" } },
    patch: envelope("*** Add File: link", "+x"),
    hold: (theirs, ours) => (assert.ok(theirs.ok && !ours.ok), bothFail(ours, theirs, "f", "a\n", "x\n")),
  },
  {
    reason: "`..` after a directory that does not exist is not resolved",
    tree: { f: "a\n" },
    patch: envelope("*** Update File: d/../f", "@@", "-a", "+b"),
    hold: (theirs, ours) => assert.ok(theirs.ok && !ours.ok),
  },
  {
    reason: "a path is not a file and a directory in one patch",
    tree: { f: "a\n" },
    patch: envelope("*** Delete File: f", "*** Add File: f/g", "+x"),
    hold: (theirs, ours) => assert.ok(theirs.ok && !ours.ok && ours.tree.has("f")),
  },
  {
    reason: "a path is not a file and a directory in one patch, also if it moves the file",
    tree: { f: "a\n" },
    patch: envelope("*** Update File: f", "*** Move to: n n", "@@", "-a", "+b", "*** Update File: n n", "*** Move to: f/x", "@@", "-b", "+c"),
    hold: (theirs, ours) => assert.ok(theirs.ok && !ours.ok && ours.tree.has("f")),
  },
  {
    reason: "a binary file is not patched",
    tree: { f: "\u0000\u0001\nb\n" },
    patch: update("@@", "-b", "+c"),
    hold: (theirs, ours) => assert.ok(theirs.ok && !ours.ok),
  },
  {
    reason: "a file of another encoding is patched in its encoding",
    tree: { f: Buffer.from("\ufeffa\r\nb\r\n", "utf16le") },
    patch: update("@@", "-b", "+c"),
    hold: (theirs, ours) => (assert.ok(!theirs.ok && ours.ok), assert.equal(ours.tree.get("f"), Buffer.from("\ufeffa\r\nc\r\n", "utf16le").toString("latin1"))),
  },
  {
    reason: "a byte order mark is no part of the first line",
    tree: { f: "\ufeffa\nb\n" },
    patch: update("@@", "-a", "+A"),
    hold: (theirs, ours) => (assert.ok(!theirs.ok && ours.ok), assert.equal(ours.tree.get("f"), Buffer.from("\ufeffA\nb\n").toString("latin1"))),
  },
];

/** Returns the reasons for which the outcomes of a generated patch may differ; fails if they differ otherwise. */
export function reasons({ patch }, original, theirs, ours) {
  const list = new Set();
  const movesToItself = selfMoves(patch);
  if (!theirs.ok && !ours.ok) {
    return same(theirs.tree, original) ? list : list.add("a patch is applied as a whole or not at all");
  }
  if (theirs.ok && !ours.ok && climbsFromNowhere(patch, [...original.keys()])) {
    return list.add("`..` after a directory that does not exist is not resolved");
  }
  if (!theirs.ok && ours.ok && movesToItself.length > 0) {
    return list.add("a file that is moved to its own path is not deleted");
  }
  if (theirs.ok && !ours.ok && ADDED_AFTER_ANCHOR.test(patch) && AMBIGUOUS.test(ours.text)) {
    return list.add("lines that are only added are refused below a line that occurs several times");
  }
  if (theirs.ok !== ours.ok && ADDED_AFTER_ANCHOR.test(patch) && hasRepeatedFile(patch)) {
    return list.add("lines that are only added come after the line that `@@` names");
  }
  assert.equal(ours.ok, theirs.ok, "success");
  for (const name of new Set([...theirs.tree.keys(), ...ours.tree.keys()])) {
    const [a, b] = [theirs.tree.get(name), ours.tree.get(name)];
    if (a === b) continue;
    if (a === undefined && movesToItself.includes(name)) {
      list.add("a file that is moved to its own path is not deleted");
      continue;
    }
    assert.ok(a !== undefined && b !== undefined, `${name} is in one tree`);
    const closed = b.endsWith("\n") || !/\n$/.test(a) ? b : a.slice(0, b.length) === b ? a : `${b}${/\r\n$/.test(a) ? "\r\n" : "\n"}`;
    if (closed !== b) list.add("a last line that the patch does not change gets no ending");
    if (a === closed) continue;
    assert.ok(ADDED_AFTER_ANCHOR.test(patch), `the content of ${name}`);
    assert.deepEqual(lines(closed), lines(a), `the lines of ${name}`);
    list.add("lines that are only added come after the line that `@@` names");
  }
  return list;
}

const ADDED_AFTER_ANCHOR = /^@@ [^\n]*\S[^\n]*\n(\+[^\n]*\n)+(?=@@|\s*\*\*\*)/m;

function lines(text) {
  return text.split(/\r?\n/).sort();
}

/** Returns whether a path of the patch has `..` after a directory that does not exist. */
function climbsFromNowhere(patch, names) {
  const directories = [...patch.matchAll(/(?:File|Move to): ([^\n]*?)\/\.\.\//g)].map(([, path]) => path.replace("{w}/", ""));
  return directories.some((directory) => !names.some((name) => name.startsWith(`${directory}/`)));
}

const plain = (path) => posix.normalize(path.trim().replace("{w}/", ""));

/** Returns whether two sections of a patch are about one file, so that the second depends on the first. */
function hasRepeatedFile(patch) {
  const paths = [...patch.matchAll(/(?:File|Move to): (.*)/g)].map(([, path]) => plain(path));
  return new Set(paths).size < paths.length;
}

/** Returns the files that a patch moves to their own paths. */
function selfMoves(patch) {
  const moves = [...patch.matchAll(/^\s*\*\*\* Update File: (.*)\r?\n\*\*\* Move to: (.*)/gm)];
  return moves.filter(([, from, to]) => plain(from) === plain(to)).map(([, from]) => plain(from));
}

function same(a, b) {
  return a.size === b.size && [...a].every(([name, text]) => b.get(name) === text);
}
