// Codex's own program, and calls of its tools as a model makes them: a server on this machine answers in place of the
// model with the calls of a script.

import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Time limit of a run in milliseconds. */
const TIMEOUT_MS = 120_000;

const package_ = dirname(fileURLToPath(import.meta.resolve(`@openai/codex-${process.platform}-${process.arch}/package.json`)));

/** Path of the Codex program. */
export const program = join(package_, "vendor", readdirSync(join(package_, "vendor"))[0], "bin/codex");

/**
 * Makes Codex perform calls in `directory`, and returns their outputs. `next` receives the output of the previous call,
 * and returns the next call as `[name, arguments]`, with the namespace of the tool after them if it has one, or nothing at
 * the end. `more` are settings of Codex by their names, in TOML.
 */
export async function outputsOfCalls(home, directory, next, more = {}) {
  const outputs = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      if (!request.url.endsWith("/responses")) return response.writeHead(404).end("{}");
      const known = JSON.parse(body).input.filter((item) => item.type === "function_call_output");
      outputs.push(...known.slice(outputs.length).map((item) => item.output));
      const call = next(outputs.at(-1));
      const id = `call_${outputs.length}`;
      const item = call
        ? { type: "function_call", id, call_id: id, name: call[0], arguments: JSON.stringify(call[1]), namespace: call[2] }
        : { type: "message", id, role: "assistant", content: [{ type: "output_text", text: "done" }] };
      const usage = { input_tokens: 0, input_tokens_details: null, output_tokens: 0, output_tokens_details: null, total_tokens: 0 };
      response.writeHead(200, { "content-type": "text/event-stream" });
      const send = (type, data) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
      send("response.created", { response: { id } });
      send("response.output_item.done", { output_index: 0, item });
      send("response.completed", { response: { id, usage } });
      response.end();
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const provider = `{name="script",base_url="http://127.0.0.1:${server.address().port}/v1",wire_api="responses"}`;
  const settings = { model_provider: '"script"', "model_providers.script": provider, model: '"gpt-5"', ...more };
  const args = ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", "-C", directory, "--enable", "unified_exec"];
  args.push(...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]), "run the script");
  const child = spawn(program, args, { env: { HOME: home, PATH: process.env.PATH }, stdio: ["ignore", "ignore", "pipe"], timeout: TIMEOUT_MS });
  let log = "";
  child.stderr.on("data", (part) => (log += part));
  const status = await new Promise((ended) => child.on("close", ended));
  server.close();
  if (status !== 0) throw new Error(`codex ended with status ${status}: ${log.slice(-2_000)}`);
  return outputs;
}
