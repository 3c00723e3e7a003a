// A session with `paddock-mcp.wasm` in an engine, through the official client: reads, searches, edits, a patch, failures.
// Over HTTP also the plain JSON interface, requests of the stateless revision, refused requests, and edits at the same time;
// `PADDOCK_TEST_TOKEN` has the token of the server.
// Usage: node engine.js WORKSPACE http URL
//        node engine.js WORKSPACE stdio COMMAND [ARGUMENT...]

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { check } from "./check.js";

const [directory, kind, ...target] = process.argv.slice(2);
const file = (name) => join(directory, name);
const STATELESS = "2026-07-28";
const AUTHORIZATION = `Bearer ${process.env.PADDOCK_TEST_TOKEN}`;
/** Number of clients that edit one file at the same time. */
const CLIENTS = 16;

async function connect() {
  const client = new Client({ name: "paddock-engine", version: "1.0.0" });
  const [first, ...others] = target;
  const stdio = () => new StdioClientTransport({ command: first, args: others, env: { ...process.env } });
  const http = () => new StreamableHTTPClientTransport(new URL("/mcp", first), { requestInit: { headers: { authorization: AUTHORIZATION } } });
  await client.connect(kind === "http" ? http() : stdio());
  return client;
}

async function session(client) {
  const call = (name, args) => client.callTool({ name, arguments: args });

  await check("lists the tools, each with schemas", async () => {
    const { tools } = await client.listTools();
    assert.ok(tools.length >= 15 && tools.every(({ inputSchema, outputSchema }) => inputSchema.type === "object" && outputSchema.type === "object"));
    assert.match(client.getInstructions(), /apply_patch/);
  });

  // From here on the client validates each structured result against its schema.
  await check("reads", async () => {
    writeFileSync(file("a.txt"), "one\ntwo\n");
    const result = await call("read_file", { path: "a.txt" });
    assert.equal(result.content[0].text, "1|one\n2|two\n[etag c3f9c8c283a2]");
    assert.equal(result.structuredContent.total_lines, 2);
  });

  await check("lists and searches", async () => {
    for (const [tool, args] of [["list_dir", {}], ["tree", {}], ["glob", { pattern: "*" }], ["stat", { path: "a.txt" }]]) {
      const result = await call(tool, args);
      assert.ok(!result.isError && result.content[0].text.includes("a.txt"), `${tool} ${JSON.stringify(result.content)}`);
    }
    const result = await call("grep", { pattern: "^t" });
    assert.deepEqual(result.structuredContent.matches.map((match) => [match.path, match.line]), [["a.txt", 2]]);
  });

  await check("edits, keeps line endings, and undoes", async () => {
    writeFileSync(file("run.sh"), "#!/bin/sh\r\necho one\r\n");
    const result = await call("edit_file", { path: "run.sh", edits: [{ old_text: "one", new_text: "two" }] });
    assert.ok(!result.isError, JSON.stringify(result.content));
    assert.equal(readFileSync(file("run.sh"), "utf8"), "#!/bin/sh\r\necho two\r\n");
    assert.ok(!(await call("restore", { path: "run.sh" })).isError);
    assert.equal(readFileSync(file("run.sh"), "utf8"), "#!/bin/sh\r\necho one\r\n");
  });

  await check("patches several files", async () => {
    const patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Add File: b.txt\n+b\n*** End Patch\n";
    const result = await call("apply_patch", { patch });
    assert.equal(result.structuredContent?.files.length, 2, JSON.stringify(result));
    assert.equal(readFileSync(file("a.txt"), "utf8"), "one\n2\n");
    assert.equal(readFileSync(file("b.txt"), "utf8"), "b\n");
  });

  await check("writes, makes, copies, moves, deletes", async () => {
    for (const [tool, args] of [
      ["write_file", { path: "w.txt", content: "w\n" }],
      ["make_dir", { path: "d" }],
      ["copy", { source: "w.txt", destination: "d/w.txt" }],
      ["move", { source: "d/w.txt", destination: "d/v.txt" }],
      ["read_files", { paths: ["w.txt", "d/v.txt"] }],
      ["delete", { path: "d", recursive: true }],
    ]) {
      const result = await call(tool, args);
      assert.ok(!result.isError, `${tool} ${JSON.stringify(result.content)}`);
    }
  });

  await check("tells a failure as a result, an unknown tool as an error", async () => {
    const result = await call("read_file", { path: "../outside" });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /`\.\.\/outside`/);
    await assert.rejects(call("no_such_tool", {}), { code: -32602 });
  });

  await check("reads and writes a file of 1 MB", async () => {
    const content = "0123456789abcde\n".repeat(1 << 16);
    assert.ok(!(await call("write_file", { path: "large.txt", content })).isError);
    assert.equal(readFileSync(file("large.txt"), "utf8"), content);
    const result = await call("read_file", { path: "large.txt", offset: 60_000, limit: 3 });
    assert.equal(result.structuredContent.start_line, 60_000);
  });
}

/** Sends a request whose headers `fetch` would not send. */
function send(method, path, headers, body = "") {
  return new Promise((resolve, reject) => {
    const url = new URL(path, target[0]);
    const all = { "content-type": "application/json", authorization: AUTHORIZATION, ...headers };
    // A connection of its own, because an engine may close one whose request it has refused.
    const sent = httpRequest(url, { method, headers: all, agent: new Agent() }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk)).on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }));
    });
    sent.on("error", reject).end(body);
  });
}

async function overHttp() {
  const post = (path, body, headers = {}) => send("POST", path, headers, JSON.stringify(body));

  await check("answers plain JSON", async () => {
    const tools = JSON.parse((await send("GET", "/tools?dialect=anthropic&format=anthropic", {})).text);
    assert.ok(tools.some(({ name }) => name === "str_replace_based_edit_tool"), JSON.stringify(tools));
    const outcome = JSON.parse((await post("/call", { tool: "read_file", arguments: { path: "a.txt" } })).text);
    assert.equal(outcome.result.content, "one\n2");
    const failed = await post("/call", { tool: "read_file", arguments: { path: "none" } });
    assert.equal(failed.status, 200);
    assert.equal(JSON.parse(failed.text).error.code, "not-found");
    assert.equal((await send("GET", "/healthz", {})).text, "ok\n");
  });

  await check("answers the stateless revision", async () => {
    const meta = { "io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {} };
    const ask = async (method, params, headers = {}) => {
      const message = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } };
      const answer = await post("/mcp", message, { "mcp-protocol-version": STATELESS, "mcp-method": method, ...headers });
      return { status: answer.status, ...JSON.parse(answer.text) };
    };
    assert.ok((await ask("server/discover", {})).result.supportedVersions.includes(STATELESS));
    assert.equal((await ask("tools/list", {})).result.resultType, "complete");
    const read = await ask("tools/call", { name: "stat", arguments: { path: "a.txt" } }, { "mcp-name": "stat" });
    assert.equal(read.result.structuredContent.kind, "file");
    const refused = await ask("tools/call", { name: "stat", arguments: { path: "a.txt" } }, { "mcp-name": "delete" });
    assert.deepEqual([refused.status, refused.error.code], [400, -32020]);
  });

  await check("refuses other hosts and origins, tokens, types, methods, and large bodies", async () => {
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    for (const [status, headers] of [
      [200, {}],
      [403, { host: "evil.example" }],
      [403, { origin: "https://evil.example" }],
      [401, { authorization: "Bearer 0123456789abcdef" }],
      [401, { authorization: `${AUTHORIZATION}0` }],
      [415, { "content-type": "text/plain" }],
    ]) {
      assert.equal((await post("/mcp", ping, headers)).status, status, JSON.stringify(headers));
    }
    assert.equal((await send("GET", "/mcp", {})).status, 405);
    assert.equal((await send("GET", "/other", {})).status, 404);
    assert.equal((await send("POST", "/mcp", {}, "{")).status, 400);
    const large = send("POST", "/mcp", { "transfer-encoding": "chunked" }, `"${"x".repeat(17 << 20)}"`);
    // Some engines close the connection while the body is being sent.
    assert.ok([413, "closed"].includes(await large.then(({ status }) => status, () => "closed")));
  });

  await check(`makes edits of ${CLIENTS} clients at the same time, and loses none`, async () => {
    writeFileSync(file("shared.txt"), Array.from({ length: CLIENTS }, (_, number) => `line ${number} old\n`).join(""));
    const edit = async (number) => {
      const edits = [{ old_text: `line ${number} old`, new_text: `line ${number} new` }];
      const [edited, read] = await Promise.all([
        post("/call", { tool: "edit_file", arguments: { path: "shared.txt", edits } }),
        post("/call", { tool: "grep", arguments: { pattern: "line" } }),
      ]);
      for (const answer of [edited, read]) assert.ok(JSON.parse(answer.text).ok, answer.text);
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, number) => edit(number)));
    assert.equal(readFileSync(file("shared.txt"), "utf8"), Array.from({ length: CLIENTS }, (_, number) => `line ${number} new\n`).join(""));
  });
}

const client = await connect();
try {
  await session(client);
  if (kind === "http") await overHttp();
} finally {
  await client.close();
}
process.exit();
