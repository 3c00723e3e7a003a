// Attacks on `paddock-mcp.wasm` in an engine: paths that lead outside, forged headers, requests without the token, bodies
// that are too large, wrong or never sent. `HOME` has the directories `workspace` and `state`, and `PADDOCK_TEST_TOKEN` the
// token. With `--hostile`, another process also exchanges a directory for a link meanwhile. `--serial` is for an engine that
// handles one request after the other.
// Usage: node engine_attacks.js [--hostile] [--serial] HOME URL

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { lstatSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { check } from "./check.js";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { hostile: { type: "boolean" }, serial: { type: "boolean" } } });
const [home, address] = positionals;
const { hostname, port } = new URL(address);
const TOKEN = process.env.PADDOCK_TEST_TOKEN;
const SECRET = "content of a file outside of the workspace";
/** Milliseconds in which a refusal has to come. */
const PATIENCE = 10_000;
/** Connections that send half of a request. */
const HALF_OPEN = 8;
/** Milliseconds for which calls are made while a directory is exchanged. */
const EXCHANGE_MS = 5_000;
const workspace = (name) => join(home, "workspace", name);
const outside = join(home, "outside");

/** Sends bytes over a connection of its own, and returns the answer: its status, its head and its body. */
function exchange(bytes, { end = true } = {}) {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const chunks = [];
    const done = () => {
      socket.destroy();
      const answer = Buffer.concat(chunks).toString();
      const [head, ...body] = answer.split("\r\n\r\n");
      resolve({ status: Number(answer.match(/^HTTP\/1\.[01] (\d+)/)?.[1] ?? 0), head, body: body.join("\r\n\r\n") });
    };
    socket.setTimeout(PATIENCE, () => {
      socket.destroy();
      reject(new Error(`no answer to ${JSON.stringify(bytes.slice(0, 300))}`));
    });
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      if (isWhole(Buffer.concat(chunks).toString("latin1"))) done();
    });
    // An engine may close the connection before it has read everything.
    socket.on("error", done).on("close", done);
    socket.write(bytes);
    if (end) socket.end();
  });
}

function isWhole(answer) {
  const at = answer.indexOf("\r\n\r\n");
  const length = answer.match(/^content-length: *(\d+)\r$/im);
  return at >= 0 && length !== null && answer.length >= at + 4 + Number(length[1]);
}

/** Returns a request. A header that is `undefined` is left out, and an array is sent as several headers. */
function request(method, target, headers = {}, body = "") {
  const all = { host: `${hostname}:${port}`, authorization: `Bearer ${TOKEN}`, "content-type": "application/json", "content-length": Buffer.byteLength(body), connection: "close", ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) => [value].flat().filter((one) => one !== undefined).map((one) => `${name}: ${one}\r\n`));
  return `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

async function called(tool, args) {
  const { status, body } = await exchange(request("POST", "/call", {}, JSON.stringify({ tool, arguments: args })), { end: false });
  assert.equal(status, 200, body);
  return body;
}

/** Returns names and contents of everything below a directory. */
function tree(directory) {
  return readdirSync(directory).sort().map((name) => {
    const path = join(directory, name);
    const entry = lstatSync(path);
    if (entry.isDirectory()) return [name, tree(path)];
    return [name, entry.isFile() ? readFileSync(path, "utf8") : "link"];
  });
}

mkdirSync(outside);
mkdirSync(join(outside, "directory"));
writeFileSync(join(outside, "secret.txt"), `${SECRET}\n`);
writeFileSync(join(outside, "directory/secret.txt"), `${SECRET}\n`);
const before = tree(outside);
writeFileSync(workspace("inside.txt"), "inside\n");
mkdirSync(workspace("d"));
symlinkSync("../outside/secret.txt", workspace("relative"));
symlinkSync(join(outside, "secret.txt"), workspace("absolute"));
symlinkSync("../outside/directory", workspace("links-to-directory"));
symlinkSync("links-to-directory/secret.txt", workspace("chain"));
symlinkSync("loop", workspace("loop"));
symlinkSync("../../state", workspace("d/state"));

const OUTSIDE = [
  "../outside/secret.txt", "d/../../outside/secret.txt", "./.././outside/secret.txt", join(outside, "secret.txt"),
  "/workspace/../outside/secret.txt", "/../outside/secret.txt", "relative", "absolute", "chain", "links-to-directory/secret.txt", "loop",
  "/paddock-state/component-lock/free", "d/state/component-lock/free", "../paddock-state/component-lock/free", "../state/component-lock/free",
  "/etc/passwd", "/proc/self/environ", "..\\outside\\secret.txt", "inside.txt\u0000", "..%2foutside%2fsecret.txt", "",
];

await check("no tool reaches a path outside", async () => {
  for (const path of OUTSIDE) {
    for (const [tool, args] of [
      ["read_file", { path }], ["read_file", { path, mode: "base64" }], ["stat", { path, checksum: true }], ["read_files", { paths: [path] }],
      ["write_file", { path, content: "changed\n" }], ["write_file", { path, content: "changed\n", append: true }],
      ["edit_file", { path, edits: [{ old_text: "content", new_text: "changed" }] }],
      ["copy", { source: path, destination: "stolen.txt" }], ["copy", { source: "inside.txt", destination: path, overwrite: true }],
      ["apply_patch", { patch: `*** Begin Patch\n*** Update File: ${path}\n@@\n-${SECRET}\n+changed\n*** End Patch\n` }],
      ["make_dir", { path: `${path}/new` }], ["grep", { pattern: "outside", path }], ["list_dir", { path }], ["glob", { pattern: path }],
    ]) {
      // These two have a meaning inside of the workspace.
      if (path === "" || (path.startsWith("..%2f") && !["read_file", "read_files"].includes(tool))) continue;
      const answer = await called(tool, args);
      assert.ok(!answer.includes(SECRET) && !answer.includes(Buffer.from(SECRET).toString("base64").slice(0, 40)), `${tool} ${path}: ${answer}`);
      assert.deepEqual(tree(outside), before, `${tool} ${path}: ${answer}`);
    }
  }
  for (const path of [".", "d"]) {
    assert.ok(!(await called("grep", { pattern: "content of", path, include_hidden: true, include_ignored: true })).includes(SECRET));
  }
  assert.ok(readdirSync(join(home, "state")).includes("component-lock"));
});

await check("a request without the token reaches nothing", async () => {
  const call = JSON.stringify({ tool: "write_file", arguments: { path: "without-token.txt", content: "x" } });
  for (const authorization of [undefined, "", "Bearer", "Bearer ", `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Basic ${TOKEN}`, TOKEN, `Bearer ${TOKEN.toUpperCase()}x`]) {
    for (const [method, target, body] of [["POST", "/call", call], ["POST", "/mcp", call], ["GET", "/tools", ""], ["GET", "/none", ""], ["GET", `/tools?token=${TOKEN}`, ""]]) {
      const { status, head } = await exchange(request(method, target, { authorization }, body), { end: false });
      assert.equal(status, 401, `${target} ${authorization}`);
      assert.match(head, /www-authenticate: bearer/i);
    }
  }
  const twice = await exchange(request("GET", "/tools", { authorization: [`Bearer ${TOKEN}`, `Bearer ${TOKEN}`] }), { end: false });
  assert.equal(twice.status, 400);
  assert.ok(!readdirSync(join(home, "workspace")).includes("without-token.txt"));
});

await check("a refusal does not wait for the body", async () => {
  for (const [headers, expected] of [[{ authorization: undefined }, 401], [{ host: "evil.example" }, 403], [{ "content-length": 17 << 20 }, 413]]) {
    const { status } = await exchange(request("POST", "/call", { "content-length": 1 << 20, ...headers }), { end: false });
    assert.equal(status, expected, JSON.stringify(headers));
  }
});

await check("forged hosts and origins are refused", async () => {
  const evil = ["evil.example", "localhost.evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0", "localhost:80@evil.example", "localhost\t.evil"];
  for (const host of evil) {
    const { status } = await exchange(request("GET", "/tools", { host }), { end: false });
    assert.ok([400, 403].includes(status), `${host}: ${status}`);
  }
  // Engines pass the first host, or refuse the request. A browser sends one.
  for (const host of [undefined, ["evil.example", "localhost"]]) {
    const { status } = await exchange(request("GET", "/tools", { host }), { end: false });
    assert.notEqual(status, 200, host);
  }
  const other = await exchange(request("GET", "http://evil.example/tools"), { end: false });
  assert.ok([400, 403, 404].includes(other.status), `absolute: ${other.status}`);
  for (const origin of ["http://evil.example", "null", `http://${hostname}:${port}`, "http://localhost", ""]) {
    const { status } = await exchange(request("GET", "/tools", { origin }), { end: false });
    assert.equal(status, 403, origin);
  }
  // No header of a proxy makes a host permitted.
  const forwarded = { host: "evil.example", "x-forwarded-host": "localhost", forwarded: "host=localhost" };
  assert.equal((await exchange(request("GET", "/tools", forwarded), { end: false })).status, 403);
});

await check("floods of headers and long targets are refused", async () => {
  const flood = Object.fromEntries(Array.from({ length: 200 }, (_, number) => [`x-${number}`, "y"]));
  const refused = [0, 400, 414, 431];
  for (const [target, headers] of [["/tools", flood], ["/tools", { "x-long": "y".repeat(1 << 20) }], [`/tools?dialect=${"x".repeat(9000)}`, {}]]) {
    const { status } = await exchange(request("GET", target, headers), { end: false });
    assert.ok(refused.includes(status), `${status}`);
  }
});

await check("bodies that are too large, nested, doubled or wrong are refused", async () => {
  const post = (body, headers = {}) => exchange(request("POST", "/mcp", headers, body), { end: false });
  const request_ = (params) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  for (const [body, status] of [
    [request_(`{"name":"stat","arguments":{"path":"a","path":"inside.txt"}}`), 400],
    [request_(`{"name":"stat","arguments":{"a":[${"0,".repeat(1 << 16)}0]}}`), 400],
    [request_("[".repeat(1 << 20)), 400],
    [request_(`{"name":"stat","arguments":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}`), 400],
    ["[]", 400], ["null", 400], ["", 400], [`"${"x".repeat(1 << 20)}"`, 400],
    [`[${request_('{"name":"stat","arguments":{"path":"inside.txt"}}')}]`, 400],
  ]) {
    assert.equal((await post(body)).status, status, body.slice(0, 100));
  }
  const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  const endless = await exchange(request("POST", "/mcp", { "content-length": undefined, "transfer-encoding": "chunked" }) + chunk.repeat(300), { end: false });
  assert.ok([0, 413].includes(endless.status), `${endless.status}`);
  const cut = await exchange(request("POST", "/call", { "content-length": 500 }, '{"tool": "make_dir", "arguments": {"path": "cut"}}'));
  assert.ok([0, 400, 500].includes(cut.status), `${cut.status}`);
  assert.ok(!readdirSync(join(home, "workspace")).includes("cut"));
});

if (values.serial) {
  console.log("skipped: requests without an end, for which this engine waits before it handles the next request");
} else {
  await check(`answers while ${HALF_OPEN} other requests have no end`, async () => {
    const sockets = Array.from({ length: HALF_OPEN }, () => {
      const socket = connect(Number(port), hostname).on("error", () => {});
      socket.write(request("POST", "/call", { "content-length": 1000 }, '{"tool"'));
      return socket;
    });
    await sleep(200);
    try {
      assert.ok((await called("stat", { path: "inside.txt" })).startsWith('{"ok":true'));
    } finally {
      sockets.forEach((socket) => socket.destroy());
    }
  });
}

if (values.hostile) {
  await check("a directory that is exchanged for a link leads nowhere", async () => {
    const loop = `const { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } = require("node:fs"); process.chdir(process.argv[1]);
      const begin = () => {
        for (const name of ["swap", "swap-1", "swap-link"]) rmSync(name, { recursive: true, force: true });
        mkdirSync("swap"); writeFileSync("swap/secret.txt", "inside\\n"); symlinkSync("../outside/directory", "swap-link");
      };
      for (;;) {
        // A call may have made the directory again, or be changing it.
        try { begin(); } catch { continue; }
        try {
          for (;;) { renameSync("swap", "swap-1"); renameSync("swap-link", "swap"); renameSync("swap", "swap-link"); renameSync("swap-1", "swap"); }
        } catch {}
      }`;
    const swapping = spawn(process.execPath, ["-e", loop, workspace("")], { stdio: "inherit" });
    const seen = new Map();
    try {
      for (const end = Date.now() + EXCHANGE_MS; Date.now() < end;) {
        for (const [tool, args] of [
          ["read_file", { path: "swap/secret.txt" }],
          ["grep", { pattern: "of a file|inside", path: "swap" }],
          ["write_file", { path: "swap/secret.txt", content: "inside\n" }],
          ["write_file", { path: "swap/new.txt", content: "new\n" }],
        ]) {
          const answer = await called(tool, args);
          const outcome = JSON.parse(answer).error?.code ?? "ok";
          seen.set(`${tool} ${outcome}`, (seen.get(`${tool} ${outcome}`) ?? 0) + 1);
          assert.ok(!answer.includes(SECRET), answer);
        }
      }
    } finally {
      swapping.kill("SIGKILL");
    }
    console.log([...seen].map(([name, times]) => `${name}: ${times}`).join(", "));
    assert.deepEqual(tree(outside), before);
  });
}

await check("still answers", async () => {
  assert.ok((await called("read_file", { path: "inside.txt" })).includes("inside"));
  assert.deepEqual(tree(outside), before);
});
process.exit();
