// An agent's session with `paddock serve` through the official client, and one with a narrowed token.
// Usage: node http.js [path of a paddock binary with the feature `serve`]

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { check } from "./check.js";
import { session } from "./session.js";

const binary = process.argv[2] ?? "paddock";
const home = mkdtempSync(join(tmpdir(), "paddock-http-"));
const directory = join(home, "notes");
// The user's own policy must not affect the test.
const env = { ...process.env, XDG_CONFIG_HOME: join(home, "none") };
delete env.PADDOCK_POLICY;

/** Returns a new token with its hash. */
function newToken() {
  const printed = execFileSync(binary, ["token", "new"], { encoding: "utf8" });
  return { token: printed.match(/^token: (.*)$/m)[1], sha256: printed.match(/^sha256: (.*)$/m)[1] };
}

/** Starts the server. Resolves with the process and its URL. */
async function start(configuration) {
  const file = join(home, "serve.json");
  writeFileSync(file, JSON.stringify(configuration));
  const server = spawn(binary, ["serve", "--config", file], { env, stdio: ["ignore", "ignore", "pipe"] });
  const lines = createInterface({ input: server.stderr });
  const { value: line } = await lines[Symbol.asyncIterator]().next();
  assert.match(line ?? "", /^paddock: serving http:/);
  return { server, url: line.slice("paddock: serving ".length) };
}

async function connect(url, token) {
  const client = new Client({ name: "paddock-test", version: "1.0.0" });
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/w/notes/mcp`), { requestInit }));
  return client;
}

mkdirSync(directory);
const [full, narrow] = [newToken(), newToken()];
const { server, url } = await start({
  listen: "127.0.0.1:0",
  state_dir: "state",
  workspaces: { notes: { root: "notes" } },
  tokens: [
    { name: "agent", sha256: full.sha256, grant: { workspaces: ["notes"] } },
    { name: "reader", sha256: narrow.sha256, grant: { workspaces: ["notes"], read_only: true, tools: ["read_file", "write_file"] } },
  ],
});
const exited = new Promise((resolve) => server.once("exit", resolve));
try {
  const client = await connect(url, full.token);
  await session(client, directory);

  await check("a narrowed token has fewer tools and cannot write", async () => {
    const reader = await connect(url, narrow.token);
    const { tools } = await reader.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ["read_file", "write_file"]);
    const read = await reader.callTool({ name: "read_file", arguments: { path: "a.txt" } });
    assert.ok(!read.isError, JSON.stringify(read.content));
    const write = await reader.callTool({ name: "write_file", arguments: { path: "a.txt", content: "" } });
    assert.equal(write.isError, true);
    assert.match(write.content[0].text, /read-only/);
    await reader.close();
  });

  await check("a wrong token is refused", async () => {
    await assert.rejects(connect(url, `${full.token}0`), /401|Unauthorized|not valid/i);
  });

  await check("the server ends while a client is connected", async () => {
    const started = Date.now();
    server.kill("SIGTERM");
    assert.equal(await exited, 0);
    assert.ok(Date.now() - started < 5_000, `${Date.now() - started} ms`);
  });
  await client.close().catch(() => {});
} finally {
  server.kill("SIGKILL");
  rmSync(home, { recursive: true });
}
process.exit();
