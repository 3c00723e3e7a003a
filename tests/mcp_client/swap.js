// One session with the reference file system server and with `paddock mcp --dialect mcp-filesystem`. The answers must
// be equal, except for the listed differences. Usage: node swap.js [path of the paddock binary]

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { check } from "./check.js";

const binary = process.argv[2] ?? "paddock";
const reference = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"));
const home = realpathSync(mkdtempSync(join(tmpdir(), "paddock-swap-")));
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Creates a separate workspace for each server, with the same content. */
function workspace(name) {
  const top = join(home, name);
  mkdirSync(join(top, "src/deep"), { recursive: true });
  writeFileSync(join(top, "a.txt"), "one\ntwo\nthree\n");
  writeFileSync(join(top, "crlf.txt"), "one\r\ntwo\r\n");
  writeFileSync(join(top, "src/b.js"), "function b() {\n    return 1;\n}\n");
  writeFileSync(join(top, "src/deep/.env"), "x");
  writeFileSync(join(top, "big.txt"), "0123456789abcdef\n".repeat(10_000));
  writeFileSync(join(top, "p.png"), Buffer.from(PNG, "base64"));
  symlinkSync("/etc/passwd", join(top, "out"));
  return top;
}

/** Calls that both servers have to answer equally; `{w}` is the workspace. */
const SAME = [
  ["list_allowed_directories", {}],
  ["read_text_file", { path: "{w}/a.txt" }],
  ["read_file", { path: "{w}/a.txt" }],
  ["read_text_file", { path: "a.txt" }],
  ["read_text_file", { path: "{w}/a.txt", head: 2 }],
  ["read_text_file", { path: "{w}/a.txt", head: 0 }],
  ["read_text_file", { path: "{w}/big.txt" }],
  ["read_text_file", { path: "{w}/a.txt", head: 1, tail: 1 }],
  ["read_media_file", { path: "{w}/p.png" }],
  ["read_media_file", { path: "{w}/a.txt" }],
  ["read_multiple_files", { paths: ["{w}/a.txt", "{w}/src/b.js"] }],
  ["list_directory", { path: "{w}/src" }, sorted],
  ["list_directory_with_sizes", { path: "{w}/src" }],
  ["directory_tree", { path: "{w}/src" }, sortedTree],
  ["directory_tree", { path: "{w}", excludePatterns: ["deep", "*.txt", "out", "p.png"] }, sortedTree],
  ["search_files", { path: "{w}", pattern: "**/*.js" }],
  ["search_files", { path: "{w}", pattern: "*.js" }],
  ["search_files", { path: "{w}", pattern: "**/deep" }],
  ["search_files", { path: "{w}", pattern: "*.txt", excludePatterns: ["big.txt"] }, sorted],
  ["edit_file", { path: "{w}/a.txt", edits: [{ oldText: "two", newText: "2" }], dryRun: true }],
  ["edit_file", { path: "{w}/a.txt", edits: [{ oldText: "two", newText: "2" }, { oldText: "2\nthree", newText: "2\n3" }] }],
  ["edit_file", { path: "{w}/src/b.js", edits: [{ oldText: "function b() {\n  return 1;", newText: "function b() {\n  return 2;" }] }],
  ["read_text_file", { path: "{w}/src/b.js" }],
  ["write_file", { path: "{w}/n.txt", content: "new\n" }],
  ["write_file", { path: "{w}/n.txt", content: "newer\n" }],
  ["create_directory", { path: "{w}/x/y/z" }],
  ["create_directory", { path: "{w}/x/y/z" }],
  ["move_file", { source: "{w}/n.txt", destination: "{w}/x/m.txt" }],
  ["read_text_file", { path: "{w}/x/m.txt" }],
];

/** Calls that the servers answer differently, with the expected answer of each and the reason. */
const DIFFERENT = [
  ["get_file_info", { path: "{w}/a.txt" }, "WASI tells neither the time of creation nor mode bits", (theirs, ours) => {
    assert.match(theirs.text, /permissions: 6\d\d/);
    assert.match(ours.text, /^size: \d+\ncreated: unknown\nmodified: .* GMT\+0000 \(Coordinated Universal Time\)\n/);
    assert.match(ours.text, /isDirectory: false\nisFile: true\npermissions: unknown$/);
  }],
  ["read_text_file", { path: "{w}/big.txt", tail: 1 }, "the last line is not counted as two where it ends in a newline", (theirs, ours) => {
    assert.equal(theirs.text, "");
    assert.equal(ours.text, "0123456789abcdef\n");
  }],
  ["read_text_file", { path: "{w}/p.png" }, "bytes that are no text are refused", (theirs, ours) => {
    assert.ok(!theirs.isError && ours.isError);
  }],
  ["list_directory_with_sizes", { path: "{w}/src", sortBy: "size" }, "directories have no size to sort by", (theirs, ours) => {
    assert.deepEqual(theirs.text.split("\n").sort(), ours.text.split("\n").sort());
    assert.match(ours.text, /^\[FILE\] b\.js .*\n\[DIR\] deep/);
  }],
  ["edit_file", { path: "{w}/big.txt", edits: [{ oldText: "0123", newText: "E" }] }, "of several matches none is chosen", (theirs, ours) => {
    assert.ok(!theirs.isError && ours.isError);
    assert.match(ours.text, /`oldText` occurs more than \d+ times/);
  }],
  ["edit_file", { path: "{w}/crlf.txt", edits: [{ oldText: "two", newText: "2" }] }, "line endings stay", (theirs, ours, top) => {
    assert.ok(!theirs.isError && !ours.isError);
    assert.equal(readFileSync(join(top.theirs, "crlf.txt"), "utf8"), "one\n2\n");
    assert.equal(readFileSync(join(top.ours, "crlf.txt"), "utf8"), "one\r\n2\r\n");
  }],
  ["write_file", { path: "{w}/new/dir/n.txt", content: "n" }, "missing directories are made", (theirs, ours) => {
    assert.ok(theirs.isError && !ours.isError);
  }],
  ["write_file", { path: "{w}/.git/hooks/pre-commit", content: "n" }, "protected paths are not written", (theirs, ours, top) => {
    assert.ok(ours.isError && !readdirSync(top.ours).includes(".git"));
  }],
  ["read_text_file", { path: "{w}/out" }, "a failure says what would work", (theirs, ours) => {
    assert.ok(theirs.isError && ours.isError);
    assert.match(theirs.text, /^Access denied - /);
    assert.match(ours.text, /^Access denied - path outside allowed directories: /);
    assert.ok(!ours.text.includes("/etc/passwd"), "the target of the link is not revealed");
  }],
  ["move_file", { source: "{w}/a.txt", destination: "{w}/crlf.txt" }, "the words of the failure", (theirs, ours, top) => {
    assert.ok(theirs.isError && ours.isError && statSync(join(top.ours, "a.txt")).isFile());
  }],
];

function sorted(text) {
  return text.split("\n").sort().join("\n");
}

function sortedTree(text) {
  const order = (nodes) =>
    nodes
      .map((node) => (node.children ? { ...node, children: order(node.children) } : node))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  return JSON.stringify(order(JSON.parse(text)));
}

async function connect(command, args) {
  const client = new Client({ name: "paddock-swap", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command, args, env: { XDG_CONFIG_HOME: "/nonexistent" }, stderr: "ignore" }));
  return client;
}

async function call(client, top, tool, args) {
  const concrete = JSON.parse(JSON.stringify(args).replaceAll("{w}", top));
  const result = await client.callTool({ name: tool, arguments: concrete });
  const plain = JSON.parse(JSON.stringify(result).replaceAll(top, "{w}"));
  return { ...plain, text: plain.content.map((block) => block.text ?? "").join("") };
}

const top = { theirs: workspace("theirs"), ours: workspace("ours") };
const theirs = await connect(process.execPath, [reference, top.theirs]);
const ours = await connect(binary, ["mcp", "--root", top.ours, "--state-dir", join(home, "state"), "--dialect", "mcp-filesystem"]);

await check("the same tools take the same arguments", async () => {
  const shape = ({ tools }) =>
    tools
      .map(({ name, title, inputSchema, annotations }) => ({
        name,
        title,
        arguments: Object.keys(inputSchema.properties ?? {}).sort(),
        required: [...(inputSchema.required ?? [])].sort(),
        readOnly: annotations.readOnlyHint,
        openWorld: annotations.openWorldHint,
        ...(annotations.readOnlyHint ? {} : { destructive: annotations.destructiveHint, idempotent: annotations.idempotentHint }),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  assert.deepEqual(shape(await ours.listTools()), shape(await theirs.listTools()));
});
await check("the instructions name no tool of another dialect", async () => {
  assert.match(ours.getInstructions(), /confined to one workspace/);
  assert.doesNotMatch(ours.getInstructions(), /`(grep|glob|apply_patch|list_dir)`/);
});
for (const [tool, args, normal = (text) => text] of SAME) {
  await check(`${tool} ${JSON.stringify(args)}`, async () => {
    const [expected, got] = [await call(theirs, top.theirs, tool, args), await call(ours, top.ours, tool, args)];
    assert.equal(got.isError ?? false, expected.isError ?? false, got.text);
    if (expected.isError) {
      assert.equal(got.text, expected.text);
      return;
    }
    assert.equal(normal(got.text), normal(expected.text));
    if (typeof expected.structuredContent.content === "string") {
      assert.equal(normal(got.structuredContent.content), normal(expected.structuredContent.content));
    } else {
      assert.deepEqual(got.content, expected.content);
      assert.deepEqual(got.structuredContent, expected.structuredContent);
    }
  });
}
for (const [tool, args, why, hold] of DIFFERENT) {
  await check(`differs, ${why}: ${tool}`, async () => {
    hold(await call(theirs, top.theirs, tool, args), await call(ours, top.ours, tool, args), top);
  });
}
await theirs.close();
await ours.close();
rmSync(home, { recursive: true, force: true });
