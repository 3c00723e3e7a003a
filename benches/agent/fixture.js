// The tree at the start of every task: the crate in `tree/`, and what is generated or cannot be committed there.

import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const CRATE = fileURLToPath(new URL("tree", import.meta.url));
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** Modification time of the first file, in seconds; each further file is a second younger. */
const EPOCH = 1_700_000_000;

/** Returns the files of the tree: a map from paths to bytes. */
export function startTree() {
  const tree = readTree(CRATE);
  const add = (path, content) => tree.set(path, Buffer.from(content));
  add(".gitignore", "target/\n*.bak\n");
  add(".git/HEAD", "ref: refs/heads/main\n");
  add(".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
  add("target/debug/ledger.d", "target/debug/ledger: src/main.rs src/lib.rs\n");
  add("data/rates.csv", "currency;rate\r\nCHF;1.04\r\nUSD;0.92\r\nGBP;1.17\r\n");
  add("assets/logo.png", Buffer.from(PNG, "base64"));
  add("src/tables.rs", tables());
  add("logs/run.log", log());
  return tree;
}

/** A module of 2,045 lines, of which the last page differs from the others. */
function tables() {
  const lines = ["//! Tables of exchange codes. Generated; do not edit by hand.", "", "/// Code, number and digits of a currency.", "pub const CODES: &[(&str, u16, u8)] = &["];
  for (let number = 0; lines.length < 2_019; number += 1) {
    const code = [0, 1, 2].map((at) => String.fromCharCode(65 + (Math.floor(number / 26 ** at) % 26))).join("");
    lines.push(`    ("${code}", ${number}, ${number % 7 === 0 ? 0 : 2}), // ${number % 3 === 0 ? "in use since 1999" : "in use"}`);
  }
  lines.push("];", "", "/// Codes that are no longer in use.", "pub const RETIRED: &[&str] = &[");
  for (const code of ["DEM", "FRF", "ITL", "ESP", "NLG", "BEF", "ATS", "FIM", "IEP", "PTE"]) lines.push(`    "${code}",`);
  lines.push("];", "", "/// Returns the number of digits of a currency.", "pub fn digits(code: &str) -> Option<u8> {", "    let found = CODES.iter().find(|(name, _, _)| *name == code)?;", "    Some(found.2)", "}", "", "/// Tells whether a currency is no longer in use.", "pub fn is_retired(code: &str) -> bool {", "    RETIRED.contains(&code)", "}");
  return `${lines.join("\n")}\n`;
}

/** A log of 3,000 lines with one failure. */
function log() {
  const lines = [];
  for (let at = 0; at < 3_000; at += 1) {
    const time = `2024-03-01T${String(Math.floor(at / 3600)).padStart(2, "0")}:${String(Math.floor(at / 60) % 60).padStart(2, "0")}:${String(at % 60).padStart(2, "0")}Z`;
    lines.push(at === 2_317 ? `${time} ERROR import: line 412: \`12,5O\` is no amount` : `${time} INFO import: entry ${at} of 3000 added`);
  }
  return `${lines.join("\n")}\n`;
}

/** Reads a directory: a map from paths to bytes; an empty directory is a path that ends in `/`. */
export function readTree(top) {
  const tree = new Map();
  const visit = (directory) => {
    const entries = readdirSync(directory, { withFileTypes: true });
    if (entries.length === 0 && directory !== top) tree.set(`${relative(top, directory)}/`, Buffer.alloc(0));
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) visit(path);
      else tree.set(relative(top, path), readFileSync(path));
    }
  };
  visit(top);
  return tree;
}

/** Makes the directory `top` hold `tree` and nothing else. The directory itself stays, since a server holds it. */
export function writeTree(top, tree) {
  mkdirSync(top, { recursive: true });
  for (const name of readdirSync(top)) rmSync(join(top, name), { recursive: true });
  let age = 0;
  for (const [path, content] of [...tree].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const file = join(top, path);
    if (path.endsWith("/")) {
      mkdirSync(file, { recursive: true });
      continue;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    utimesSync(file, EPOCH + age, EPOCH + age);
    age += 1;
  }
}

/**
 * Returns `tree` with the changes of a task: a string is the whole content, `null` removes a path, and a list of pairs
 * replaces every occurrence of the first text by the second. `{ from, edits }` takes another file's content.
 */
export function changed(tree, changes) {
  const result = new Map(tree);
  for (const [path, change] of Object.entries(changes)) {
    if (change === null) {
      if (!result.delete(path)) throw new Error(`${path} is not there to remove`);
    } else if (typeof change === "string" || Buffer.isBuffer(change)) {
      result.set(path, Buffer.from(change));
    } else {
      const { from, edits } = Array.isArray(change) ? { from: path, edits: change } : { edits: [], ...change };
      let text = tree.get(from).toString();
      for (const [old, text_] of edits) {
        if (old instanceof RegExp ? !old.test(text) : !text.includes(old)) throw new Error(`${from} has no ${old}`);
        text = text.replaceAll(old, () => text_);
      }
      result.set(path, Buffer.from(text));
    }
  }
  return result;
}

/** Returns the paths at which two trees differ. */
export function difference(tree, expected) {
  const paths = new Set([...tree.keys(), ...expected.keys()]);
  return [...paths].filter((path) => !tree.has(path) || !expected.has(path) || !tree.get(path).equals(expected.get(path))).sort();
}
