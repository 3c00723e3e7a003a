// Applies generated patches with Codex's own program and with `paddock batch --dialect codex`, and compares the
// resulting trees, success and text. Usage: node differential.js [path of the paddock binary] [count] [first seed]

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { DIFFERENT, SAME, reasons } from "./differences.js";
import { generate } from "./generate.js";
import { program } from "./program.js";

const [binary = "paddock", count = "300", first = "1"] = process.argv.slice(2);
const home = realpathSync(mkdtempSync(join(tmpdir(), "paddock-codex-")));
const top = { theirs: join(home, "theirs"), ours: join(home, "ours") };

/** Replaces the content of a directory. The directory itself stays, because `paddock` holds it open. */
function plant(directory, tree) {
  mkdirSync(directory, { recursive: true });
  for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true });
  for (const [name, text] of tree) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    if (text.target === undefined) writeFileSync(join(directory, name), text);
    else symlinkSync(text.target, join(directory, name));
  }
}

/** Returns the files of a directory by their paths, each byte as a character. */
function harvest(directory) {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(files.sort().map((file) => [file.slice(directory.length + 1), readFileSync(file, "latin1")]));
}

function theirs(tree, patch) {
  plant(top.theirs, tree);
  const text = patch.replaceAll("{w}", top.theirs);
  const ran = spawnSync(program, ["--codex-run-as-apply-patch", text], { cwd: top.theirs, encoding: "utf8", env: { HOME: home } });
  const output = (ran.status === 0 ? ran.stdout : ran.stderr).replaceAll(top.theirs, "{w}").trimEnd();
  return { ok: ran.status === 0, text: output, tree: harvest(top.theirs) };
}

mkdirSync(top.ours);
const args = ["batch", "--root", top.ours, "--state-dir", join(home, "state"), "--dialect", "codex"];
const paddock = spawn(binary, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, XDG_CONFIG_HOME: "/nonexistent" } });
const answers = createInterface({ input: paddock.stdout })[Symbol.asyncIterator]();

async function ours(tree, patch) {
  plant(top.ours, tree);
  const input = patch.replaceAll("{w}", top.ours);
  paddock.stdin.write(`${JSON.stringify({ tool: "apply_patch", arguments: { input } })}\n`);
  const answer = JSON.parse((await answers.next()).value);
  const text = answer.text ?? answer.error.error.message;
  return { ok: answer.ok, text: text.replaceAll(top.ours, "{w}"), tree: harvest(top.ours) };
}

/** Returns the bytes of a tree before a patch, in the form that `harvest` returns. */
function before(tree) {
  return new Map([...tree].map(([name, text]) => [name, Buffer.from(text).toString("latin1")]));
}

const counts = new Map();
let failures = 0;

/** Runs `hold`, and reports the case if it fails. */
function check(name, { tree, patch }, expected, got, hold) {
  try {
    hold();
  } catch (error) {
    failures += 1;
    console.log(`not ok ${name}: ${error.message}`);
    console.log(JSON.stringify({ tree: [...tree], patch, codex: rendered(expected), paddock: rendered(got) }, null, 1));
  }
}

const rendered = ({ ok, text, tree }) => ({ ok, text, tree: [...tree] });

/** Compares two outcomes of one patch, and counts the deliberate differences. */
function compare(at, expected, got) {
  const original = before(at.tree);
  if (!got.ok) assert.deepEqual([...got.tree].sort(), [...original].sort(), "a failed patch changed the tree");
  for (const reason of reasons(at, original, expected, got)) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  if (expected.ok && got.ok) {
    const summary = got.text.split("\n").filter((line) => !line.startsWith("[")).join("\n");
    assert.equal(summary, expected.text, "the text");
  }
}

for (const [name, tree, patch] of SAME) {
  const at = { tree: new Map(Object.entries(tree)), patch };
  const [expected, got] = [theirs(at.tree, patch), await ours(at.tree, patch)];
  check(name, at, expected, got, () => compare(at, expected, got));
}
for (const { reason, tree, patch, hold } of DIFFERENT) {
  const at = { tree: new Map(Object.entries(tree)), patch };
  const [expected, got] = [theirs(at.tree, patch), await ours(at.tree, patch)];
  check(`differs, ${reason}`, at, expected, got, () => hold(expected, got));
}
let successes = 0;
for (let seed = Number(first); seed < Number(first) + Number(count); seed += 1) {
  const at = generate(seed);
  const [expected, got] = [theirs(at.tree, at.patch), await ours(at.tree, at.patch)];
  successes += expected.ok ? 1 : 0;
  check(`seed ${seed}`, at, expected, got, () => compare(at, expected, got));
}
paddock.stdin.end();
rmSync(home, { recursive: true, force: true });
for (const [reason, times] of counts) console.log(`${times} patches differ: ${reason}`);
console.log(`${count} generated patches, of which Codex applies ${successes}; ${SAME.length + DIFFERENT.length} others; ${failures} failures`);
process.exitCode = failures === 0 ? 0 : 1;
