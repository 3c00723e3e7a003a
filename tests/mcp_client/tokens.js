// Size of each dialect's tool list in tokens of o200k_base: checks the README's table, and the limit of the default
// dialect. Usage: node tokens.js [path of the paddock binary] [--check README.md]

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

const MAX_TOKENS = 2_500;
const binary = process.argv[2] ?? "paddock";
const readme = process.argv[3] === "--check" ? readFileSync(process.argv[4], "utf8") : undefined;

/** Names of all dialects, from the error for an unknown dialect. */
function dialects() {
  const { stdout } = spawnSync(binary, ["tools", "--dialect", "?"]);
  const names = /^the dialects are (.+)$/.exec(JSON.parse(stdout).error.hint)?.[1].split(", ") ?? [];
  assert.ok(names.length >= 10, "the hint lists the dialects");
  return names;
}

for (const dialect of dialects()) {
  const tools = JSON.parse(execFileSync(binary, ["tools", "--dialect", dialect, "--format", "anthropic"]));
  const tokens = encode(JSON.stringify(tools)).length;
  const row = `| \`${dialect}\` | ${tools.length} | ${tokens.toLocaleString("en")} |`;
  console.log(row);
  assert.ok(dialect !== "paddock" || tokens < MAX_TOKENS, `the default dialect costs ${tokens} tokens`);
  assert.ok(readme === undefined || readme.includes(row), `the README has another row than\n${row}`);
}
