// Edits by many clients at once on engines that share a workspace and are killed at random moments. After each kill, the
// engine starts again, and the next call has to find every change that was reported as made, and no half of a change.
// `HOME` has the directories `workspace` and `state`. `{port}` in the command stands for the port of an engine.
// Usage: node engine_kills.js HOME [--engines N] [--kills N] [--seed N] -- COMMAND [ARGUMENT...]

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { check } from "./check.js";
import { Random } from "./random.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { engines: { type: "string", default: "1" }, kills: { type: "string", default: "10" }, seed: { type: "string", default: "23" } },
});
const [home, ...command] = positionals;
const random = new Random(Number(values.seed));
const CLIENTS = 6;
/** Milliseconds for an engine to start, and for a client to make an edit while others wait for a lock that expires. */
const PATIENCE = 120_000;
/** Range of milliseconds from the start of an engine to its end. */
const [SHORTEST, LONGEST] = [100, 1_500];
const file = (name) => join(home, "workspace", name);

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** An engine that can be killed and started again at the same port. */
class Engine {
  static async start() {
    const engine = new Engine();
    engine.port = await freePort();
    await engine.restart();
    return engine;
  }

  async restart() {
    const [program, ...args] = command.map((argument) => argument.replaceAll("{port}", String(this.port)));
    this.child = spawn(program, args, { stdio: ["ignore", "ignore", "ignore"] });
    for (const end = Date.now() + PATIENCE; ;) {
      if (await this.send("GET", "/healthz").then(({ status }) => status === 200, () => false)) return;
      assert.ok(Date.now() < end && this.child.exitCode === null, `the engine did not start: ${command.join(" ")}`);
      await sleep(20);
    }
  }

  async kill() {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await ended;
  }

  send(method, path, body = "") {
    return new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${process.env.PADDOCK_TEST_TOKEN}` };
      const sent = httpRequest({ host: "127.0.0.1", port: this.port, method, path, headers, agent: new Agent(), timeout: PATIENCE }, (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk)).on("error", reject);
        response.on("end", () => resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }));
      });
      sent.on("timeout", () => sent.destroy(new Error("no answer"))).on("error", reject).end(body);
    });
  }

  /** Returns the outcome of a call, or `undefined` if none came. */
  async call(tool, args) {
    const answer = await this.send("POST", "/call", JSON.stringify({ tool, arguments: args })).catch(() => undefined);
    return answer?.status === 200 ? JSON.parse(answer.text) : undefined;
  }
}

/** A client that raises its own number in two files by one call. */
class Client {
  /** The last number that was reported or found. */
  known = 0;
  /** The number of a call without an answer, which may or may not have been made. */
  unanswered;
  edits = 0;
  failures = 0;

  constructor(number) {
    this.number = number;
  }

  line(value) {
    return `client ${this.number}: ${value}`;
  }

  async run(engines, isOver) {
    while (!isOver()) {
      await this.compare(engines);
      const next = this.known + 1;
      const files = ["shared.txt", `own-${this.number}.txt`];
      const patch = files.map((name) => `*** Update File: ${name}\n@@\n-${this.line(this.known)}\n+${this.line(next)}\n`);
      const outcome = await pick(engines).call("apply_patch", { patch: `*** Begin Patch\n${patch.join("")}*** End Patch\n` });
      if (outcome?.ok) {
        this.known = next;
        this.edits += 1;
        continue;
      }
      this.failures += 1;
      if (!outcome) this.unanswered = next;
      else assert.equal(outcome.error.code, "limit-exceeded", JSON.stringify(outcome));
      await sleep(10);
    }
  }

  /** Fails if the files do not have the number that they have to have. */
  async compare(engines) {
    const found = await this.current(engines);
    assert.ok([this.known, this.unanswered].includes(found), `${this.line(found)} was found, ${this.known} was reported`);
    this.known = found;
    this.unanswered = undefined;
  }

  /** Returns the number in the files, which has to be the same in both. */
  async current(engines) {
    const end = Date.now() + PATIENCE;
    while (Date.now() < end) {
      const outcome = await pick(engines).call("read_files", { files: [{ path: "shared.txt" }, { path: `own-${this.number}.txt` }] });
      if (outcome?.ok) {
        const numbers = outcome.result.entries.map(({ result }) => Number(result?.content.match(new RegExp(`^client ${this.number}: (\\d+)$`, "m"))?.[1]));
        assert.equal(numbers[0], numbers[1], JSON.stringify(outcome.result));
        return numbers[0];
      }
      if (outcome) assert.equal(outcome.error.code, "limit-exceeded", JSON.stringify(outcome));
      await sleep(20);
    }
    throw new Error("no call succeeded");
  }
}

const pick = (engines) => engines[Math.floor(Math.random() * engines.length)];

await check(`${values.kills} kills of ${values.engines} engines lose no edit of ${CLIENTS} clients`, async () => {
  const clients = Array.from({ length: CLIENTS }, (_, number) => new Client(number));
  writeFileSync(file("shared.txt"), clients.map((client) => `${client.line(0)}\n`).join(""));
  clients.forEach((client) => writeFileSync(file(`own-${client.number}.txt`), `${client.line(0)}\n`));
  const engines = [];
  for (let number = 0; number < Number(values.engines); number += 1) engines.push(await Engine.start());
  const started = Date.now();
  let isOver = false;
  try {
    const running = clients.map((client) => client.run(engines, () => isOver));
    const failed = Promise.all(running);
    failed.catch(() => { isOver = true; });
    for (let kill = 0; kill < Number(values.kills) && !isOver; kill += 1) {
      await sleep(SHORTEST + random.below(LONGEST - SHORTEST));
      const engine = random.of(engines);
      await engine.kill();
      await engine.restart();
    }
    isOver = true;
    await failed;
    for (const client of clients) await client.compare(engines);
    const left = readdirSync(join(home, "state")).filter((name) => name.startsWith("journal"));
    assert.deepEqual(left, []);
    assert.equal(readFileSync(file("shared.txt"), "utf8").split("\n").length, CLIENTS + 1);
    const sum = (of) => clients.reduce((total, client) => total + of(client), 0);
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    console.log(`${sum(({ edits }) => edits)} edits of two files in ${seconds} s, ${sum(({ failures }) => failures)} calls without success`);
    assert.ok(clients.every(({ known }) => known > 0));
  } finally {
    engines.forEach((engine) => engine.child.kill("SIGKILL"));
  }
});
process.exit();
