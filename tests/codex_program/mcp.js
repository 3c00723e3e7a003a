// Checks what Codex gives the model of an answer by `paddock mcp`. Codex gives it the text, because the server knows Codex by
// its name, and the JSON with `--structured`. Once Codex gives it the text in both cases, `guest/protocol/src/clients.rs` does
// not have to list Codex.
// Usage: node mcp.js [path of the paddock binary]

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { outputsOfCalls } from "./program.js";

const [binary = "paddock"] = process.argv.slice(2);
const home = realpathSync(mkdtempSync(join(tmpdir(), "paddock-codex-mcp-")));
const root = join(home, "root");
mkdirSync(root);
writeFileSync(join(root, "a.txt"), "one\ntwo\n");

/** Returns the output of a read that the model gets, by a server with these options. */
async function read(...options) {
  const server = {
    command: resolve(binary),
    args: ["mcp", "--root", root, "--state-dir", join(home, "state"), ...options],
    // This cache has the component as it was compiled before: its compilation takes a while.
    env: { XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), XDG_CONFIG_HOME: join(home, "none") },
    startup_timeout_sec: 90,
    required: true,
  };
  const calls = [["read_file", { path: "a.txt" }, "mcp__paddock"]];
  const [output] = await outputsOfCalls(home, root, () => calls.shift(), { "mcp_servers.paddock": toml(server) });
  return typeof output === "string" ? output : output.map(({ text }) => text).join("\n");
}

/** Returns a value in TOML, on one line. */
function toml(value) {
  const isTable = typeof value === "object" && !Array.isArray(value);
  return isTable ? `{${Object.entries(value).map(([name, of]) => `${name}=${toml(of)}`)}}` : JSON.stringify(value);
}

assert.match(await read(), /^Wall time: .*\nOutput:\n1\|one\n2\|two\n\[etag [0-9a-f]{12}\]$/);
assert.match(await read("--structured"), /^Wall time: .*\nOutput:\n\{"path":"a\.txt","content":"one\\ntwo",/);
rmSync(home, { recursive: true, force: true });
console.log("Codex gives the model the text of an answer, and its JSON with `--structured`");
