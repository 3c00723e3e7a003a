// Lines, right and wrong, listed and generated, to `paddock mcp` and to `paddock-mcp.wasm` in an engine, over workspaces of
// the same content. The answers have to be equal, but for the capabilities, of which the component has only the tools.
// Usage: node component.js PADDOCK [--seed N] [--lines N] -- COMMAND [ARGUMENT...]
// In the arguments, `{workspace}` and `{state}` stand for the directories of the component.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Random } from "./random.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string", default: "23" }, lines: { type: "string", default: "200" } },
});
const [binary, ...command] = positionals;
const home = mkdtempSync(join(tmpdir(), "paddock-component-"));
const STATELESS = "2026-07-28";
const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", STATELESS];
/** Milliseconds in which an answer has to come. */
const PATIENCE = 60_000;
/** Milliseconds in which an answer has to come after the answer to a later request. */
const LATE = 2_000;

/** A server over lines, with a workspace of its own. */
class Server {
  #child;
  #lines = [];
  #waiting = [];

  constructor(name, command, args) {
    const at = { workspace: join(home, name, "workspace"), state: join(home, name, "state") };
    mkdirSync(at.workspace, { recursive: true });
    mkdirSync(at.state, { recursive: true });
    for (const [file, content] of [["a.txt", "one\ntwo\n"], ["b.txt", "b\r\n"]]) {
      writeFileSync(join(at.workspace, file), content);
      utimesSync(join(at.workspace, file), 1_700_000_000, 1_700_000_000);
    }
    const filled = args.map((argument) => argument.replaceAll("{workspace}", at.workspace).replaceAll("{state}", at.state));
    this.#child = spawn(command, filled, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, XDG_CONFIG_HOME: "/nonexistent", HOME: home } });
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      const waiting = this.#waiting.shift();
      if (waiting) waiting(JSON.parse(line));
      else this.#lines.push(JSON.parse(line));
    });
  }

  send(line) {
    this.#child.stdin.write(`${line}\n`);
  }

  next(patience = PATIENCE) {
    if (this.#lines.length > 0) return Promise.resolve(this.#lines.shift());
    return new Promise((resolve, reject) => {
      const wait = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(wait), 1);
        reject(new Error("no answer"));
      }, patience);
      this.#waiting.push(wait);
    });
  }

  close() {
    this.#child.stdin.end();
    this.#child.kill();
  }
}

/** Returns an answer without what differs: capabilities, the numbers of backups, and the times of changed files. */
function comparable(answer) {
  const { result } = answer;
  if (result?.capabilities) result.capabilities = {};
  return JSON.parse(JSON.stringify(answer).replaceAll(/backup(\\*"?:? ?\\*"?)[0-9]{13}(-[0-9-]+)?/g, "backup$1N").replaceAll(/20[0-9T:-]{17}\.[0-9]+Z/g, "T"));
}

const META = { "io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {} };

/** Returns a request, with the metadata that the revision needs. */
function request(revision, id, method, params = {}) {
  return { jsonrpc: "2.0", id, method, params: revision === STATELESS ? { ...params, _meta: META } : params };
}

const call = (name, args) => ({ name, arguments: args });

/** Lines for a session of a revision. */
function listed(revision) {
  const ask = (id, method, params) => JSON.stringify(request(revision, id, method, params));
  return [
    ask(1, "tools/list"),
    ask("two", "tools/call", call("read_file", { path: "a.txt" })),
    ask(3, "tools/call", call("read_file", { path: "none.txt" })),
    ask(4, "tools/call", call("grep", { pattern: "[" })),
    ask(5, "tools/call", call("no_such_tool", {})),
    ask(6, "tools/call", call("read_file", { paht: "a.txt" })),
    ask(7, "tools/call", { name: "list_dir" }),
    ask(8, "tools/call", { name: 5 }),
    ask(9, "tools/call", { name: "stat", arguments: [] }),
    ask(10, "tools/call", { name: "stat", arguments: null }),
    ask(11, "tools/list", { cursor: 5 }),
    ask(12, "tools/cal"),
    ask(13, "ping"),
    ask(14, "tools/call", call("write_file", { path: "new.txt", content: "new\n" })),
    ask(15, "tools/call", call("edit_file", { path: "a.txt", edits: [{ old_text: "two", new_text: "2" }] })),
    ask(16, "tools/call", call("grep", { pattern: "n" })),
    JSON.stringify({ jsonrpc: "2.0", id: 20, method: "server/discover", params: { _meta: META } }),
    JSON.stringify({ jsonrpc: "2.0", id: 21, method: "server/discover" }),
    JSON.stringify({ jsonrpc: "2.0", id: 22, method: "tools/list", params: { _meta: { ...META, "io.modelcontextprotocol/protocolVersion": "1999-01-01" } } }),
    '{"jsonrpc": "2.0", "id": 30, "method": "tools/call", "params": {"name": "stat", "arguments": {"path": "a", "path": "b"}}}',
    '{"jsonrpc": "2.0", "id": 31, "id": 32, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": null, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
    '{"jsonrpc": "1.0", "id": 33, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": 34, "method": 5}',
    '{"jsonrpc": "2.0", "id": 35, "method": "tools/list", "params": []}',
    '{"jsonrpc": "2.0", "id": 36, "method": "tools/list", "params": 5}',
    '{"jsonrpc": "2.0", "id": 37}',
    '{"jsonrpc": "2.0", "method": "notifications/other"}',
    '{"jsonrpc": "2.0", "id": 38, "result": {}}',
    `{"jsonrpc": "2.0", "id": "${"x".repeat(300)}", "method": "ping"}`,
    `{"jsonrpc": "2.0", "id": 39, "method": "x", "params": {"a": ${"[".repeat(300)}${"]".repeat(300)}}}`,
    `{"jsonrpc": "2.0", "id": 40, "method": "x", "params": {"a": [${"0,".repeat(1 << 16)}0]}}`,
    "{", "[", "x", "5", "null", '"x"', "{}", "[]", "[5]", "{}{}", "",
    JSON.stringify([request(revision, 50, "ping"), request(revision, 51, "tools/call", call("stat", { path: "a.txt" }))]),
  ];
}

/** Returns a listed line with a few characters changed. */
function changed(random, lines) {
  const line = [...random.of(lines).slice(0, 2_000)];
  const times = 1 + random.below(3);
  for (let time = 0; time < times; time += 1) {
    const at = random.below(line.length + 1);
    const with_ = random.of(["", "", "{", "}", "[", "]", '"', ",", ":", "0", "1", " ", "null", "\\"]);
    line.splice(at, random.below(3), with_);
  }
  return line.join("").replaceAll(/[\r\n]/g, "");
}

/**
 * Returns the answers to a line, in the order of their text: those that come before the answer to a request that follows it,
 * and for a server that answers requests as they end, the rest of `count` answers.
 */
async function answers(server, line, barrier, count = 0) {
  server.send(line);
  server.send(barrier.line);
  const found = [];
  for (let isPassed = false; !isPassed || found.length < count;) {
    const answer = await server.next(isPassed ? LATE : PATIENCE).catch((cause) => isPassed ? undefined : Promise.reject(cause));
    if (answer === undefined) break;
    if (answer.id === barrier.id) isPassed = true;
    else found.push(Array.isArray(answer) ? answer.map(comparable).sort(byText) : comparable(answer));
  }
  return found.sort(byText);
}

const byText = (one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other));

async function hello(server, revision) {
  if (revision === STATELESS) return;
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: "test", version: "1" } };
  server.send(JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }));
  const answer = comparable(await server.next());
  server.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}');
  return answer;
}

/**
 * Returns whether the native program refuses the nesting of a member that the protocol does not have. The component skips
 * such a member.
 */
function isDeeper(component, native) {
  return component[0]?.error?.code === -32601 && /nested too deep/.test(native[0]?.error?.message);
}

const random = new Random(Number(values.seed));
let [equal, different] = [0, 0];
for (const revision of REVISIONS) {
  const ours = new Server(`native ${revision}`, binary, ["mcp", "--root", "{workspace}", "--state-dir", "{state}"]);
  const theirs = new Server(`component ${revision}`, command[0], command.slice(1));
  assert.deepEqual(await hello(theirs, revision), await hello(ours, revision));
  const lines = listed(revision);
  const generated = Array.from({ length: Number(values.lines) }, () => changed(random, lines));
  // A stateless session starts with the first request that has no error.
  let number = 0;
  for (const line of [...lines, ...generated]) {
    number += 1;
    const id = `barrier ${number}`;
    const barrier = { id, line: JSON.stringify(request(revision, id, "tools/call", call("stat", { path: "." }))) };
    const component = await answers(theirs, line, barrier);
    const native = await answers(ours, line, barrier, component.length);
    if (isDeeper(component, native)) continue;
    try {
      assert.deepEqual(component, native);
      equal += 1;
    } catch {
      different += 1;
      process.exitCode = 1;
      const shown = (answers) => answers.map((answer) => JSON.stringify(answer).slice(0, 600)).join("\n");
      console.log(`fail ${revision}: ${line.slice(0, 300)}\n--- native\n${shown(native)}\n--- component\n${shown(component)}`);
    }
  }
  ours.close();
  theirs.close();
}
rmSync(home, { recursive: true, force: true });
console.log(`${equal + different} lines with seed ${values.seed}: ${equal} equal, ${different} different`);
process.exit();
