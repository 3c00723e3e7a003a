// Runs commands and sessions by Codex's own program and by `paddock batch --dialect codex`, and compares the texts.
// Usage: node commands.js [path of the paddock binary]

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { outputsOfCalls } from "./program.js";

const [binary = "paddock"] = process.argv.slice(2);

const run = (cmd, more = {}) => ["exec_command", { cmd, login: false, ...more }];
const write = (chars, more = {}) => ["write_stdin", { session_id: "{session}", chars, ...more }];
const waits = { yield_time_ms: 300 };

/** Calls with the same text in both programs, by name. `{session}` is the id of the session that was reported last. */
const SAME = {
  output: run("echo one; echo two"),
  exit_status: run("echo one; exit 3"),
  no_output: run("true"),
  no_final_newline: run("printf one"),
  pipes: run("test -t 1 || echo pipes"),
  workdir: run("basename $PWD", { workdir: "sub" }),
  shell: run("echo shell", { shell: "/bin/sh" }),
  tokens: run("for n in $(seq 1 50); do echo line $n; done"),
  not_utf8: run("printf 'a\\377b\\n'"),
  terminal: run("test -t 0 && test -t 1 && echo terminal", { tty: true }),
  session: run("read a; echo got $a; read b; echo got $b; exit 4", { tty: true, ...waits }),
  session_input: write("x\n", { yield_time_ms: 2_000 }),
  session_end: write("y\n", { yield_time_ms: 5_000 }),
  wait: run("sleep 1; echo late", waits),
  wait_more: write("", { yield_time_ms: 5_000 }),
  no_input: run("cat; read a || echo end"),
};

const WORDS = "errors have words of our own, with the way out";

/** The deliberate differences, which the guide lists with their reasons. */
const DIFFERENT = [
  ["standard error has a heading", run("echo one >&2; exit 1"), (theirs, ours) => {
    assert.equal(ours.replace("[stderr]\n", ""), theirs);
  }],
  ["a signal is named", run("kill -9 $$"), (theirs, ours) => {
    assert.equal(ours.replace("Process ended by SIGKILL", "Process exited with code 137"), theirs);
  }],
  ["the end of the output reports what is left out", run("seq 1 400", { max_output_tokens: 100 }), (theirs, ours) => {
    assert.match(theirs, /Warning: truncated output/);
    assert.match(ours, /\[truncated\][^]*\[\d+ of \d+ bytes of output are left out\]$/);
    const count = /Original token count: (\d+)/;
    assert.equal(count.exec(ours)[1], count.exec(theirs)[1]);
  }],
  [WORDS, run("true", { workdir: "none" }), (theirs, ours) => {
    assert.match(theirs, /No such file or directory/);
    assert.match(ours, /no such file or directory/);
  }],
  [WORDS, ["write_stdin", { session_id: 4_000_000, chars: "z" }], (theirs, ours) => {
    assert.match(theirs, /Unknown process id 4000000/);
    assert.match(ours, /there is no session 4000000/);
  }],
];
const calls = [...Object.values(SAME), ...DIFFERENT.map(([, call]) => call)];

const home = realpathSync(mkdtempSync(join(tmpdir(), "paddock-codex-commands-")));
const top = { theirs: join(home, "theirs"), ours: join(home, "ours") };
for (const directory of Object.values(top)) mkdirSync(join(directory, "sub"), { recursive: true });

/** Returns a function that reads the session id from outputs and returns the calls one by one. */
function script() {
  const left = [...calls];
  let session = 0;
  return (output) => {
    session = /session ID (\d+)/.exec(output ?? "")?.[1] ?? session;
    const call = left.shift();
    if (!call) return undefined;
    const [name, args] = call;
    return [name, args.session_id === "{session}" ? { ...args, session_id: Number(session) } : args];
  };
}

async function ours() {
  const args = ["batch", "--root", top.ours, "--state-dir", join(home, "state"), "--dialect", "codex", "--set", "commands.enabled=true"];
  const paddock = spawn(binary, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, XDG_CONFIG_HOME: "/nonexistent" } });
  const answers = createInterface({ input: paddock.stdout })[Symbol.asyncIterator]();
  const outputs = [];
  const next = script();
  for (let call = next(); call; call = next(outputs.at(-1))) {
    paddock.stdin.write(`${JSON.stringify({ tool: call[0], arguments: call[1] })}\n`);
    outputs.push(JSON.parse((await answers.next()).value).text);
  }
  paddock.stdin.end();
  return outputs;
}

/**
 * Returns a text without the parts that differ between runs. Codex prints the line endings of a terminal, and Paddock
 * does not.
 */
function normal(text) {
  const fixed = text.replace(/^Chunk ID: [0-9a-f]{6}$/m, "Chunk ID: -").replace(/^Wall time: \d+\.\d{4} seconds$/m, "Wall time: -");
  return fixed.replace(/session ID \d+/, "session ID -").replaceAll("\r\n", "\n");
}

const expected = (await outputsOfCalls(home, top.theirs, script())).map(normal);
const got = (await ours()).map(normal);
const names = [...Object.keys(SAME), ...DIFFERENT.map(([reason]) => `differs, ${reason}`)];
const holds = [...Object.keys(SAME).map(() => (theirs, ours) => assert.equal(ours, theirs)), ...DIFFERENT.map(([, , hold]) => hold)];
let failures = 0;
for (const [index, name] of names.entries()) {
  try {
    holds[index](expected[index], got[index]);
  } catch (error) {
    failures += 1;
    console.log(`not ok ${name}: ${error.message}\n${JSON.stringify({ call: calls[index], codex: expected[index], paddock: got[index] }, null, 1)}`);
  }
}
rmSync(home, { recursive: true, force: true });
console.log(`${names.length} calls of commands; ${failures} failures`);
process.exitCode = failures === 0 ? 0 : 1;
