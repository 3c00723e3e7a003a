// File work as a few lines of Node: a walk and RegExp, no ignore rules.

import fs from "node:fs";
import readline from "node:readline";

function* files(dir) {
  for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
    const path = `${dir}/${entry.name}`;
    if (entry.isDirectory()) yield* files(path);
    else if (entry.isFile()) yield path;
  }
}

function grep(output, flags, pattern) {
  const insensitive = flags.includes("i") ? "i" : "";
  const matcher = new RegExp(pattern, insensitive);
  const all = new RegExp(pattern, `g${insensitive}`);
  const lines = [];
  for (const path of files(".")) {
    const data = fs.readFileSync(path);
    if (data.subarray(0, 8192).includes(0)) continue;
    const text = data.toString();
    if (output === "files") {
      if (matcher.test(text)) lines.push(path);
      continue;
    }
    const count = flags.includes("m")
      ? (text.match(all) ?? []).length
      : text.split("\n").filter((line) => matcher.test(line)).length;
    if (count) lines.push(`${path}\0${count}`);
  }
  print(lines);
}

function names(suffix) {
  print([...files(".")].filter((path) => path.endsWith(suffix)));
}

async function page(path, first, count) {
  const [from, to] = [Number(first), Number(first) + Number(count)];
  const lines = [];
  let number = 0;
  const input = fs.createReadStream(path);
  for await (const line of readline.createInterface({ input })) {
    number += 1;
    if (number >= to) break;
    if (number >= from) lines.push(line);
  }
  input.destroy();
  print(lines);
}

function edit(path, old, text) {
  const parts = fs.readFileSync(path, "utf8").split(old);
  if (parts.length !== 2) throw new Error("not exactly once");
  fs.writeFileSync(path, parts.join(text));
}

function print(lines) {
  if (lines.length) process.stdout.write(`${lines.join("\n")}\n`);
}

const [command, ...args] = process.argv.slice(2);
await { grep, names, page, edit }[command](...args);
