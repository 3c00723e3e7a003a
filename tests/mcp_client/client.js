// An agent's session with `paddock mcp` through the official client.
// Usage: node client.js [path of the paddock binary]

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { session } from "./session.js";

const binary = process.argv[2] ?? "paddock";
const directory = mkdtempSync(join(tmpdir(), "paddock-client-"));
const client = new Client({ name: "paddock-test", version: "1.0.0" });

const env = { ...process.env, PADDOCK_STATE_DIR: mkdtempSync(join(tmpdir(), "paddock-state-")) };
// The user's own policy and state must not affect the test.
env.XDG_CONFIG_HOME = join(env.PADDOCK_STATE_DIR, "none");
delete env.PADDOCK_POLICY;
await client.connect(new StdioClientTransport({ command: binary, args: ["mcp", "--root", directory], env }));
try {
  await session(client, directory);
} finally {
  await client.close();
  rmSync(directory, { recursive: true });
  rmSync(env.PADDOCK_STATE_DIR, { recursive: true });
}
process.exit();
