// The reference file system server and `paddock mcp`, each behind a client.

import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const REFERENCE = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"));

/** Connects to the reference server with these directories. */
export function connectTheirs(directories) {
  return connect(process.execPath, [REFERENCE, ...directories]);
}

/** Connects to `paddock mcp` with these directories. */
export function connectOurs(binary, directories, state) {
  const roots = directories.flatMap((directory) => ["--root", directory]);
  return connect(binary, ["mcp", ...roots, "--state-dir", state, "--dialect", "mcp-filesystem"]);
}

async function connect(command, args) {
  const client = new Client({ name: "paddock-differential", version: "1.0.0" });
  // The reference server prints times in the time zone of its process.
  const env = { XDG_CONFIG_HOME: "/nonexistent", HOME: "/nonexistent", TZ: "UTC" };
  // By default, the client disconnects at an answer of 10 MiB.
  await client.connect(new StdioClientTransport({ command, args, env, stderr: "ignore", maxBufferSize: 256 * 1_024 * 1_024 }));
  return client;
}
