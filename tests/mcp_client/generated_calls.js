// Generated calls with random parts: paths of the tree, globs, numbers of lines, and edits of text that a file
// contains.

import { lstatSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const WORDS = ["let x = 1;", "return y;", "if (a && b) {", "}", "", "naïve café", "  indented", "\ttabbed", "end", "// note", "日本語", "$1 $& $$", "`code`", "x".repeat(200)];
const INDENTS = ["", "  ", "    ", "\t", "      "];
const GLOBS = ["*", "**", "**/*", "*.js", "**/*.js", "*.{js,ts}", "**/*.{md,txt}", "src/*", "src/**", "**/src/**", "?.js", "**/[ab].*", "[!a]*", "**/.*", "*.txt", "**/node_modules/**", "node_modules", "deep", "**/deep", "*/a.js", "a b/*", "**/*é*", "**/日本*", "*.test.js", "*.min.*", "src/deep/er/*", "src", "src/*/*", "**/er/**/*.js", "100%/*", "{src,docs}/*", "**/{a,b}.js", "in*", "**/up", "ab*", "out*", "*dangling*", "**/(1).txt", "#*", "**/#1.txt", "d*.d/**", "ü/*", "ü"];
const COUNTS = [1, 2, 3, 5, 10, 100, 5_000];

/** Returns random lines, each with its line feed, the last one sometimes without. */
export function lines(random, count) {
  const text = Array.from({ length: count }, () => `${random.of(INDENTS)}${random.of(WORDS)}\n`).join("");
  return random.chance(25) ? text.replace(/\n$/, "") : text;
}

/** Returns the paths below a directory, by kind. */
function pathsBelow(top) {
  const paths = { files: [], directories: [""], links: [] };
  const visit = (below) => {
    for (const entry of readdirSync(join(top, below), { withFileTypes: true })) {
      const path = join(below, entry.name);
      if (entry.isSymbolicLink()) paths.links.push(path);
      else if (entry.isDirectory()) {
        paths.directories.push(path);
        visit(path);
      } else paths.files.push(path);
    }
  };
  visit("");
  for (const list of Object.values(paths)) list.sort();
  return paths;
}

/** Returns one of the spellings of a path that lead to the same entry. */
function spelled(random, path) {
  const forms = [`{w}/${path}`, `{w}/${path}`, `{link}/${path}`, path || ".", `./${path}`, `{w}/src/../${path}`, `{w}//${path}`];
  return random.of(forms);
}

/** Returns one call for the tree `top`. */
export function generated(random, top) {
  const paths = pathsBelow(top);
  const file = () => spelled(random, random.of(random.chance(85) ? paths.files : [...paths.links, ...paths.directories, "gone.txt", "gone/a.txt"]));
  const directory = () => spelled(random, random.of(random.chance(92) ? paths.directories : ["a.txt", "gone", "inside dir", "absolute dir", "out dir"]));
  const fresh = () => `${random.of([...paths.directories, "fresh/one"])}/n${random.below(40)}.txt`.replace(/^\//, "");
  const globs = () => random.some(GLOBS, 3);
  const makers = {
    read_text_file: () => ({ path: file(), ...random.of([{}, { head: random.of(COUNTS) }, { tail: random.of(COUNTS) }]) }),
    read_multiple_files: () => ({ paths: Array.from({ length: 1 + random.below(5) }, file) }),
    read_media_file: () => ({ path: file() }),
    list_directory: () => ({ path: directory() }),
    list_directory_with_sizes: () => ({ path: directory(), ...random.of([{}, { sortBy: "name" }, { sortBy: "size" }]) }),
    directory_tree: () => ({ path: directory(), excludePatterns: globs() }),
    search_files: () => ({ path: directory(), pattern: random.of(GLOBS), excludePatterns: globs() }),
    get_file_info: () => ({ path: random.chance(70) ? file() : directory() }),
    write_file: () => ({ path: random.chance(50) ? file() : spelled(random, fresh()), content: lines(random, random.below(8)) }),
    create_directory: () => ({ path: spelled(random, `${random.of(paths.directories)}/d${random.below(10)}`) }),
    move_file: () => ({ source: spelled(random, random.of([...paths.files, ...paths.directories.slice(-4)])), destination: spelled(random, random.chance(70) ? fresh() : random.of(paths.files)) }),
    edit_file: () => edit(random, top, random.of(paths.files.filter((path) => lstatSync(join(top, path)).size < 100_000))),
  };
  const weighted = ["read_text_file", "read_text_file", "search_files", "search_files", "directory_tree", "edit_file", "edit_file", "edit_file", "edit_file", ...Object.keys(makers)];
  const tool = random.of(weighted);
  return { tool, args: makers[tool]() };
}

/** Returns a call that edits parts of a file's text: as they are, with other white space, or with text that is not there. */
function edit(random, top, path) {
  const text = readFileSync(join(top, path), "utf8").replaceAll("\r\n", "\n");
  const all = text.split("\n");
  const edits = Array.from({ length: 1 + random.below(3) }, () => {
    const from = random.below(all.length);
    const part = all.slice(from, from + 1 + random.below(4));
    const other = () => `${random.of(INDENTS)}${random.of(WORDS)}`;
    const oldText = random.of([
      () => part.join("\n"),
      () => `${part.join("\n")}\n`,
      () => part.map((line) => `${random.of(INDENTS)}${line.trim()}`).join("\n"),
      () => part.map((line) => `${line.trimEnd()}  `).join("\n"),
      () => part.join("\n").slice(random.below(5)),
      () => part.join("\r\n"),
      () => `${part.join("\n")} not there`,
    ])();
    const newText = random.of([
      () => part.map((line) => `${line}!`).join("\n"),
      () => part.map(other).join("\n"),
      () => [...part, other()].join("\n"),
      () => "",
      () => `${part.map((line) => `  ${line}`).join("\n")}\n`,
      () => part.join("\n"),
    ])();
    return { oldText, newText };
  });
  return { path: spelled(random, path), edits, ...(random.chance(30) && { dryRun: true }) };
}
