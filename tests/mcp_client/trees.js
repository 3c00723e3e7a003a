// Workspaces of the tests: creation, snapshots and comparison.

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { lines } from "./generated_calls.js";

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

/** Directories and file names of generated files. */
export const DIRECTORIES = ["", "src", "src/deep", "src/deep/er", "docs", "a b", "ü", ".config", "node_modules", "src/node_modules", "dist.d", "100%"];
const NAMES = ["a.js", "b.ts", "index.js", "a.test.js", "READ ME.md", "naïve.txt", ".env", "x.min.js", "日本.txt", "it's.txt", "#1.txt", "(1).txt", "p%20q.txt"];

/** Files with contents for which the servers answer differently, or once did. */
const FILES = {
  "a.txt": "one\ntwo\nthree\n",
  "open.txt": "one\ntwo\nthree",
  "one.txt": "one",
  "empty.txt": "",
  "newline.txt": "\n",
  "blank.txt": "\n\n\na\n\n\n",
  "crlf.txt": "one\r\ntwo\r\nthree\r\n",
  "mixed.txt": "one\r\ntwo\nthree\r\n",
  "bom.txt": "\ufeffone\ntwo\n",
  "tabs.py": "def f():\n\tif x:\n\t\treturn 1\n\treturn 2\n",
  "indent.js": "function b() {\n    if (x) {\n        return 1;\n    }\n    return 2;\n}\n",
  "twice.txt": "same\nother\nsame\n",
  "target of a link.txt": "x\n",
  "fence.md": "# t\n```js\nlet a;\n```\nend\n",
  "dollar.txt": "price: $1\n",
  "nul.bin": Buffer.from([1, 0, 2, 0xff]),
  "latin1.txt": Buffer.from("na\xefve caf\xe9 cr\xe8me\n", "latin1"),
  "utf16.txt": Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("one\ntwo\n", "utf16le")]),
  "p.png": PNG,
  "P.JPG": PNG,
  "my sound ü.mp3": PNG,
  "data #1?.zip": PNG,
  "size0": "",
  "size1023": "x".repeat(1_023),
  "size1024": "x".repeat(1_024),
  "size1536": "x".repeat(1_536),
  "size1m": "x".repeat(1_048_576),
  "e\u0301.txt": "decomposed\n",
  "two/e\u0301.txt": "decomposed\n",
  "two/\u00e9.txt": "composed\n",
  "!important.txt": "x\n",
  "{a}.txt": "x\n",
  "long/.git/config": "[core]\n",
  "quoted/\"q\".txt": "x\n",
  "emoji/😀.txt": "x\n",
};

/** Symbolic links; `{w}` is the workspace's real path, `{link}` a link to the workspace. */
const LINKS = {
  inside: "a.txt",
  "inside dir": "src",
  chain: "inside",
  "to move": "target of a link.txt",
  absolute: "{w}/a.txt",
  "absolute dir": "{w}/src",
  "by the link": "{link}/a.txt",
  "absolute up": "{w}/src/../a.txt",
  dangling: "gone.txt",
  "dangling absolute": "{w}/gone.txt",
  loop: "loop",
  out: "/etc/passwd",
  "out dir": "/etc",
  "out up": "../outside.txt",
  "out dir up": "..",
  sibling: "{w}-evil/secret.txt",
  "src/up": "../a.txt",
};

/** Creates the content of a workspace. */
export function fill(at, random) {
  mkdirSync(at.top, { recursive: true });
  mkdirSync(`${at.top}-evil`);
  writeFileSync(`${at.top}-evil/secret.txt`, "secret\n");
  writeFileSync(join(dirname(at.top), "outside.txt"), "outside\n");
  symlinkSync(at.top, at.link);
  for (const [path, content] of Object.entries(FILES)) put(at.top, path, content);
  for (const directory of DIRECTORIES) {
    mkdirSync(join(at.top, directory), { recursive: true });
    for (const name of NAMES) if (random.chance(45)) put(at.top, join(directory, name), lines(random, random.below(30)));
  }
  mkdirSync(join(at.top, "empty"));
  chmodSync(join(at.top, "a.txt"), 0o640);
  for (const [path, target] of Object.entries(LINKS)) symlinkSync(target.replace("{w}", at.top).replace("{link}", at.link), join(at.top, path));
}

/** Creates what calls only read: large files, a large directory, and a FIFO, on which a read would wait. */
export function fillLarge(top) {
  mkdirSync(join(top, "many"), { recursive: true });
  const line = (number) => `${String(number).padStart(8, "0")} ${"abcdefgh".repeat(5)}\n`;
  put(top, "11m.txt", Array.from({ length: 230_000 }, (_, number) => line(number)).join(""));
  put(top, "one line.txt", "0123456789".repeat(300_000));
  put(top, "20m crlf.txt", Array.from({ length: 400_000 }, (_, number) => line(number).replace("\n", "\r\n")).join(""));
  put(top, "12m.png", Buffer.alloc(12 * 1_024 * 1_024, 0x89));
  put(top, "few/cr alone.txt", "one\rtwo\rthree\r");
  put(top, "few/plain.txt", "one\ntwo\n");
  execFileSync("mkfifo", [join(top, "few/pipe")]);
  for (let number = 0; number < 10_001; number += 1) writeFileSync(join(top, "many", `${number}.txt`), "");
}

function put(top, path, content) {
  mkdirSync(dirname(join(top, path)), { recursive: true });
  writeFileSync(join(top, path), content);
  utimesSync(join(top, path), 1_700_000_000, 1_700_000_000);
}

/** The entries below a directory: kinds, bytes, targets of links and permission bits of files. */
export class Snapshot {
  constructor(top) {
    this.top = top;
    this.entries = new Map();
    const visit = (below) => {
      for (const entry of readdirSync(join(top, below), { withFileTypes: true })) {
        const path = join(below, entry.name);
        if (entry.isDirectory()) {
          this.entries.set(path, "directory");
          visit(path);
        } else if (entry.isSymbolicLink()) {
          this.entries.set(path, `link ${readlinkSync(join(top, path)).replace(dirname(top), "{home}")}`);
        } else {
          const mode = lstatSync(join(top, path)).mode & 0o777;
          this.entries.set(path, `file ${mode.toString(8)} ${readFileSync(join(top, path)).toString("latin1")}`);
        }
      }
    };
    visit("");
  }

  /** Returns the bytes of a file as text; `undefined` if there is none. */
  file(path) {
    const entry = this.entries.get(path);
    return entry?.startsWith("file") ? Buffer.from(entry.replace(/^file \d+ /, ""), "latin1").toString("utf8") : undefined;
  }

  /** Changes the tree at `top` to equal `other`. */
  copyTo(top, other) {
    const paths = differing(this, other);
    for (const path of paths) rmSync(join(top, path), { recursive: true, force: true });
    for (const path of [...this.entries.keys()].filter((path) => paths.some((changed) => path === changed || path.startsWith(`${changed}/`)))) {
      const entry = this.entries.get(path);
      if (entry === "directory") mkdirSync(join(top, path), { recursive: true });
      else if (entry.startsWith("link")) symlinkSync(entry.slice(5).replace("{home}", dirname(top)), join(top, path));
      else copyFileSync(join(this.top, path), join(top, path));
    }
  }
}

export const snapshot = (top) => new Snapshot(top);

function differing(theirs, ours) {
  const paths = new Set([...theirs.entries.keys(), ...ours.entries.keys()]);
  return [...paths].filter((path) => theirs.entries.get(path) !== ours.entries.get(path)).sort();
}

/** Describes the paths at which two trees differ. */
export function difference(theirs, ours) {
  const render = (entry) => JSON.stringify(entry?.slice(0, 200));
  return differing(theirs, ours).map((path) => `${path}: ${render(theirs.entries.get(path))} ${render(ours.entries.get(path))}`);
}

/** Returns whether two answers are equal. */
export function same(theirs, ours) {
  return JSON.stringify(theirs) === JSON.stringify(ours);
}

export function sorted(text) {
  return text.split("\n").sort().join("\n");
}

export function sortedTree(text) {
  const order = (nodes) =>
    nodes.map((node) => (node.children ? { ...node, children: order(node.children) } : node)).sort((a, b) => (a.name < b.name ? -1 : 1));
  return JSON.stringify(order(JSON.parse(text)));
}
