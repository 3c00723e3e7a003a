// Connects to a server as an agent does, and returns of each answer the text that a model reads.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, REFERENCE, StdioClientTransport, tokens } from "./modules.js";

/** Name of the workspace in texts, so that a figure does not depend on the machine. */
const DISPLAYED_ROOT = "/home/me/ledger";
/** Milliseconds after which a call without an answer fails. */
const TIMEOUT = 30_000;

/**
 * Each server, with the dialects that are tried in turn: a binary without combined dialects takes the second.
 * `scripts` names whose calls a server takes if a task has none for it.
 */
export const DRIVERS = {
  paddock: { dialects: ["paddock"] },
  codex: { dialects: ["codex"] },
  anthropic: { dialects: ["anthropic,paddock:grep,glob,delete,move,restore", "anthropic"] },
  "mcp-filesystem": { dialects: ["mcp-filesystem"], scripts: "reference" },
  reference: {},
};

/** Returns the dialect of a driver that `binary` has. */
export function dialect(binary, { dialects }) {
  for (const name of dialects) {
    try {
      execFileSync(binary, ["tools", "--dialect", name], { stdio: "ignore" });
      return name;
    } catch {
      // The next one is tried.
    }
  }
  throw new Error(`${binary} has none of the dialects ${dialects}`);
}

/** A server on the directory `top`. */
export class Session {
  static async open(home, top, command, args) {
    const session = new Session();
    session.top = top;
    session.client = new Client({ name: "paddock-agent-bench", version: "1.0.0" });
    const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, "none"), XDG_CACHE_HOME: join(home, "cache") };
    const transport = new StdioClientTransport({ command, args, env, cwd: home, stderr: "ignore" });
    await session.client.connect(transport);
    return session;
  }

  /** Starts `paddock mcp` with commands enabled and a state directory of its own. */
  static paddock(home, top, binary, dialect) {
    const state = join(home, "state", String((Session.count = (Session.count ?? 0) + 1)));
    mkdirSync(state, { recursive: true });
    const policy = join(home, "policy.json");
    writeFileSync(policy, JSON.stringify({ commands: { enabled: true } }));
    return Session.open(home, top, binary, ["mcp", "--root", top, "--state-dir", state, "--dialect", dialect, "--policy", policy]);
  }

  static reference(home, top) {
    return Session.open(home, top, process.execPath, [REFERENCE, top]);
  }

  /** Makes a call; `args` name the workspace by `{root}`. */
  async call(name, args) {
    const concrete = JSON.parse(JSON.stringify(args).replaceAll("{root}", this.top).replaceAll(DISPLAYED_ROOT, this.top));
    let text;
    let failed = false;
    try {
      const result = await this.client.callTool({ name, arguments: concrete }, undefined, { timeout: TIMEOUT });
      text = result.content.map((block) => block.text ?? `[${block.type}]`).join("\n");
      failed = result.isError === true;
    } catch (error) {
      // Clients show the message of a protocol error to the model.
      text = error.message;
      failed = true;
    }
    text = text.replaceAll(this.top, DISPLAYED_ROOT);
    const request = JSON.stringify({ name, arguments: args }).replaceAll("{root}", DISPLAYED_ROOT);
    return { text, failed, request, bytes: Buffer.byteLength(text), sent: tokens(request), received: tokens(text) };
  }

  /** Returns the tokens of the tool list, as `tests/mcp_client/tokens.js` counts them. */
  async list() {
    const { tools } = await this.client.listTools();
    return tokens(JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }))));
  }

  close() {
    return this.client.close();
  }
}
