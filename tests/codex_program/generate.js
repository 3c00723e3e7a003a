// Trees and patches made from a seed: patches that apply, patches that nearly apply, and patches that are malformed.

/** Returns a generator of random numbers: mulberry32. */
export function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count) => Math.floor(next() * count);
  return { below, chance: (percent) => next() * 100 < percent, pick: (list) => list[below(list.length)] };
}

/** A small set of lines, so that lines repeat within a file and between files. */
const LINES = [
  "a", "b", "c", "d", "a", "b", "", "", "{", "}", "  a", "a  ", "\ta", "    b", "fn f() {", "  return 1;", "class A", "+a", "-b", "@@ a", "*** a",
  "“q” – it’s", "\"q\" - it's", "x\u00a0y", "x y", "é", "日本", " ", "\t",
];
const NAMES = ["f", "g", "d/h", "d/e/i", "name with blank"];
const NEW_NAMES = ["n", "new/dir/n", "d/n", "n n"];
const ENDINGS = ["\n", "\n", "\n", "\n", "\r\n"];

/** Returns the lines of a text without their endings. */
function split(text) {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function content(rng) {
  const ending = rng.pick(ENDINGS);
  const isMixed = rng.chance(8);
  const lines = Array.from({ length: rng.pick([0, 1, 2, 3, 5, 8, 12]) }, () => rng.pick(LINES));
  const text = lines.map((line) => line + (isMixed ? rng.pick(["\n", "\r\n"]) : ending)).join("");
  return rng.chance(30) ? text.replace(/\r?\n$/, "") : text;
}

/** Changes a line in a way in which a model misremembers lines. */
function blurred(rng, line) {
  const change = rng.pick([
    (text) => `${text} `,
    (text) => text.trimEnd(),
    (text) => text.trim(),
    (text) => `  ${text}`,
    (text) => text.replace(/[“”]/g, '"').replace(/’/g, "'").replace(/–/g, "-").replace(/\u00a0/g, " "),
    (text) => `${text}x`,
  ]);
  return change(line);
}

/**
 * Returns the lines of one chunk of an update, and the position after it. Most chunks are for lines that the file has
 * at `from` or later.
 */
function chunk(rng, lines, from) {
  const rows = [];
  const start = from + rng.below(Math.max(1, lines.length - from));
  const end = rng.chance(15) ? lines.length : Math.min(lines.length, start + 1 + rng.below(3));
  const context = rng.below(10);
  const anchor = start > from && rng.chance(90) ? lines[from + rng.below(start - from)] : rng.pick(LINES);
  if (context < 5 || (context < 8 && start === from && rng.chance(80))) rows.push("@@");
  else if (context < 9) rows.push(`@@ ${rng.chance(20) ? blurred(rng, anchor) : anchor}`);
  if (rng.chance(3)) rows.push(`@@ ${rng.pick(LINES)}`);
  const blurs = rng.chance(25);
  const kinds = rng.pick(["mixed", "mixed", "mixed", "context", "added", "removed"]);
  if (kinds !== "added") {
    for (const line of lines.slice(start, end)) {
      const text = blurs && rng.chance(50) ? blurred(rng, line) : line;
      const stays = kinds === "context" || (kinds === "mixed" && rng.chance(50));
      rows.push(stays ? (text === "" && rng.chance(40) ? "" : ` ${text}`) : `-${text}`);
      if (kinds === "mixed" && rng.chance(40)) rows.push(`+${rng.pick(LINES)}`);
    }
  }
  if (kinds === "added" || (kinds === "mixed" && rng.chance(40))) {
    rows.push(...Array.from({ length: 1 + rng.below(3) }, () => `+${rng.pick(LINES)}`));
  }
  if (rows.every((row) => row.startsWith("@@")) && rng.chance(95)) rows.push(`+${rng.pick(LINES)}`);
  if (rng.chance(6)) rows.push(" ");
  if (rng.chance(4)) rows.push("-");
  if (rng.chance(3)) rows.push("+");
  if (rng.chance(10)) rows.push("*** End of File");
  if (rng.chance(6)) rows.push("");
  if (rng.chance(2)) rows.push("", "");
  if (rng.chance(1)) rows.push(rng.pick(["junk", "*junk", " @@", "@@x", "*** Foo", "*** End of File", "\u00a0a"]));
  return [rows, Math.max(from, rng.chance(85) ? end : start)];
}

function chunks(rng, text) {
  const rows = [];
  let from = 0;
  for (let count = rng.chance(2) ? 0 : rng.pick([1, 1, 1, 2, 2, 3]); count > 0; count -= 1) {
    const [more, next] = chunk(rng, split(text), from);
    rows.push(...more);
    from = next;
  }
  return rows;
}

/** Returns one of the spellings of a path that a patch may contain. */
function spelled(rng, path) {
  return rng.pick([
    ...Array.from({ length: 14 }, () => (name) => name),
    (name) => `./${name}`,
    (name) => `d/../${name}`,
    (name) => `{w}/${name}`,
    (name) => `${name} `,
  ])(path);
}

function section(rng, files) {
  const present = [...files.keys()];
  const old = rng.chance(94) && present.length > 0 ? rng.pick(present) : rng.pick([...NAMES, "none", "d", "f/x"]);
  const fresh = rng.chance(80) ? rng.pick(NEW_NAMES) : rng.pick([...NAMES, "d", "f/x"]);
  switch (rng.pick(["add", "add", "delete", "update", "update", "update", "update", "update", "update", "move", "move"])) {
    case "add": {
      const lines = Array.from({ length: rng.below(4) }, () => rng.pick(LINES));
      files.set(fresh, lines.map((line) => `${line}\n`).join(""));
      return [`*** Add File: ${spelled(rng, fresh)}`, ...lines.map((line) => `+${line}`), ...(rng.chance(2) ? [rng.pick(["", " x", "x"])] : [])];
    }
    case "delete":
      return [`*** Delete File: ${spelled(rng, old)}`, ...(rng.chance(3) ? [rng.pick(["", "-a"])] : [])];
    case "move": {
      const to = rng.chance(6) ? old : fresh;
      const rows = [`*** Update File: ${spelled(rng, old)}`, `*** Move to: ${spelled(rng, to)}`, ...chunks(rng, files.get(old) ?? "a\n")];
      files.set(to, files.get(old) ?? "");
      if (to !== old) files.delete(old);
      return rows;
    }
    default:
      return [`*** Update File: ${spelled(rng, old)}`, ...chunks(rng, files.get(old) ?? "a\n")];
  }
}

/** Returns a damaged or wrapped patch envelope. */
function wrapped(rng, lines) {
  const text = lines.join("\n");
  return rng.pick([
    () => `<<EOF\n${text}\nEOF`,
    () => `<<'EOF'\n${text}\nEOF\n`,
    () => `<<"EOF"\n${text}\nEOF\n`,
    () => `\n\n${text}\n\n`,
    () => `${text.replaceAll("\n", "\r\n")}\r\n`,
    () => lines.slice(1).join("\n"),
    () => lines.slice(0, -1).join("\n"),
    () => `junk\n${text}`,
    () => `${text}\njunk`,
    () => ` ${lines[0]} \n${lines.slice(1, -1).join("\n")}\n ${lines.at(-1)} `,
    () => lines.map((line) => (line.startsWith("*** ") ? ` ${line}` : line)).join("\n"),
    () => lines.flatMap((line, index) => (rng.chance(10) && index > 0 ? ["", line] : [line])).join("\n"),
    () => lines.map((line) => (rng.chance(30) ? `${line}\r` : line)).join("\n"),
    () => lines.filter(() => rng.chance(90)).join("\n"),
    () => text.replace("File: ", "File:"),
    () => text.replace("File: ", "File:  "),
    () => `\`\`\`\n${text}\n\`\`\``,
  ])();
}

/** Returns the tree and the patch of a seed. `{w}` in the patch stands for the directory of the tree. */
export function generate(seed) {
  const rng = random(seed);
  const files = new Map(NAMES.filter(() => rng.chance(75)).map((name) => [name, content(rng)]));
  const tree = new Map(files);
  const sections = Array.from({ length: rng.chance(1) ? 0 : rng.pick([1, 1, 1, 1, 2, 2, 3]) }, () => section(rng, files));
  if (sections.length > 0 && rng.chance(6)) sections.push(rng.pick(sections));
  const lines = ["*** Begin Patch", ...sections.flat(), "*** End Patch"];
  return { tree, patch: rng.chance(12) ? wrapped(rng, lines) : lines.join("\n") };
}
