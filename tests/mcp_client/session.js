// An agent's session through the official client, over any transport.

import assert from "node:assert/strict";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check } from "./check.js";

/** Arguments of a search that takes longer than any test waits, because its automaton is too large for the cache. */
function slowSearch(workspace) {
  let seed = 1;
  const letter = () => ((seed = (seed * 48271) % 0x7fffffff) & 4096 ? "a" : "b");
  for (let file = 0; file < 64; file += 1) {
    writeFileSync(workspace(`slow-${file}.log`), Array.from({ length: 1 << 18 }, letter).join(""));
  }
  return { pattern: "(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]", glob: "*.log" };
}

/** Makes the session with a connected client, whose workspace is the empty directory. */
export async function session(client, directory) {
  const workspace = (name) => join(directory, name);
  const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);

  await check("lists the tools in a fixed order, each with schemas", async () => {
    const { tools } = await client.listTools();
    assert.deepEqual((await client.listTools()).tools, tools);
    for (const tool of tools) {
      assert.equal(tool.inputSchema.type, "object");
      assert.equal(tool.outputSchema.type, "object");
      assert.equal(typeof tool.annotations.readOnlyHint, "boolean");
    }
    assert.ok(tools.some((tool) => tool.name === "apply_patch"));
  });

  // From here on the client validates each structured result against its schema.
  await check("reads", async () => {
    writeFileSync(workspace("a.txt"), "one\ntwo\n");
    const result = await call("read_file", { path: "a.txt" });
    assert.equal(result.content[0].text, "1|one\n2|two\n[etag c3f9c8c283a2]");
    assert.equal(result.structuredContent.total_lines, 2);
  });

  await check("lists, walks and looks", async () => {
    for (const [tool, args] of [["list_dir", {}], ["tree", {}], ["glob", { pattern: "*" }], ["stat", { path: "a.txt" }]]) {
      const result = await call(tool, args);
      assert.ok(!result.isError && result.content[0].text.includes("a.txt"), tool);
    }
  });

  await check("searches", async () => {
    const result = await call("grep", { pattern: "^t" });
    assert.deepEqual(result.structuredContent.matches.map((match) => [match.path, match.line]), [["a.txt", 2]]);
  });

  await check("edits an executable and keeps its mode", async () => {
    writeFileSync(workspace("run.sh"), "#!/bin/sh\r\necho one\r\n");
    chmodSync(workspace("run.sh"), 0o755);
    const result = await call("edit_file", { path: "run.sh", edits: [{ old_text: "one", new_text: "two" }] });
    assert.ok(!result.isError, JSON.stringify(result.content));
    assert.equal(readFileSync(workspace("run.sh"), "utf8"), "#!/bin/sh\r\necho two\r\n");
    assert.equal(statSync(workspace("run.sh")).mode & 0o777, 0o755);
  });

  await check("patches several files", async () => {
    const patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Add File: b.txt\n+b\n*** End Patch\n";
    const result = await call("apply_patch", { patch });
    assert.equal(result.structuredContent.files.length, 2, JSON.stringify(result));
    assert.equal(readFileSync(workspace("a.txt"), "utf8"), "one\n2\n");
    assert.equal(readFileSync(workspace("b.txt"), "utf8"), "b\n");
  });

  await check("replaces in many files by a plan, and reports the changes", async () => {
    const { token } = (await call("changes", {})).structuredContent;
    const arguments_ = { pattern: "^(one|b)$", replacement: "<$1>", glob: "*.txt" };
    const { plan, total_files } = (await call("replace", arguments_)).structuredContent;
    assert.equal(total_files, 2);
    assert.equal(readFileSync(workspace("a.txt"), "utf8"), "one\n2\n");
    assert.equal((await call("replace", { ...arguments_, plan })).structuredContent.applied, true);
    assert.equal(readFileSync(workspace("a.txt"), "utf8"), "<one>\n2\n");
    const changed = (await call("changes", { since: token })).structuredContent;
    assert.deepEqual(changed.modified, ["a.txt", "b.txt"]);
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

  await check("reports progress, and stops when cancelled", async () => {
    const abort = new AbortController();
    const reports = [];
    const onprogress = ({ progress }) => {
      reports.push(progress);
      if (reports.length === 2) abort.abort("enough");
    };
    await assert.rejects(call("grep", slowSearch(workspace), { signal: abort.signal, onprogress, timeout: 60_000 }));
    assert.ok(reports.length >= 2 && reports[1] > reports[0], String(reports));
    const started = Date.now();
    assert.ok(!(await call("stat", { path: "a.txt" })).isError);
    assert.ok(Date.now() - started < 2_000);
  });
}
