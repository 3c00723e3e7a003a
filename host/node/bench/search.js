/**
 * Benchmark of a search in a large directory: by this host, by a walk and a RegExp, by the reference MCP server and, if
 * `PADDOCK_BINARY` names the Rust host's binary, by that binary on one thread. Usage: node bench/search.js [DIRECTORY]
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Workspace } from '../src/index.js';
import { durationText, head, measure, row } from './measure.js';
import * as plain from './plain.js';

const PATTERN = 'fn [a-z_]+_unchecked';
const GREP = { pattern: PATTERN, output: 'count', limit: 100_000 };
const OFTEN = { rounds: 5, calls: 1 };

const tree = process.argv[2] ?? registry();
const home = mkdtempSync(join(tmpdir(), 'paddock-bench-'));

/** Directory in which cargo keeps unpacked crates: some ten thousand files of source code. */
function registry() {
  const sources = join(homedir(), '.cargo/registry/src');
  return join(sources, readdirSync(sources)[0]);
}

async function server(args, env = {}) {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...process.env, ...env }, stderr: 'ignore' }));
  return client;
}

/** Measures the Rust host's search, including the start of the process. */
function binary() {
  const { PADDOCK_BINARY } = process.env;
  if (!PADDOCK_BINARY) {
    console.log('(without PADDOCK_BINARY, the Rust host is left out)\n');
    return {};
  }
  const args = ['call', '--read-only', '--root', tree, '--threads', '1', '--state-dir', join(home, 'state'), '--set', 'limits.max_time_ms=120000'];
  return { 'grep, the Rust host, one thread': () => execFileSync(PADDOCK_BINARY, [...args, 'grep', JSON.stringify(GREP)], { maxBuffer: 1 << 28 }) };
}

function print(medians) {
  head(['work', 'time', 'to the first']);
  const [first] = medians.values();
  for (const [name, time] of medians) row([name, durationText(time), (time / first).toPrecision(2)]);
  console.log();
}

const workspace = await Workspace.open(tree, { readOnly: true, stateDir: false, limits: { max_time_ms: 120_000 } });
const { result } = await workspace.call('grep', GREP, { throws: true });
console.log(`${tree}: ${result.files_searched} files, ${(result.bytes_searched / 1e6).toFixed(0)} MB\n`);
print(await measure({
  grep: () => workspace.call('grep', GREP, { throws: true }),
  ...binary(),
  'a walk and a RegExp': () => plain.grep(tree, new RegExp(PATTERN)),
}, OFTEN));

const cli = fileURLToPath(new URL('../src/cli.js', import.meta.url));
const our = await server([cli, 'mcp', tree], { PADDOCK_STATE_DIR: join(home, 'mcp-state') });
const their = await server([fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js')), tree]);
print(await measure({
  'glob **/lib.rs, npx paddock-files mcp': () => our.callTool({ name: 'glob', arguments: { pattern: '**/lib.rs', limit: 100_000 } }),
  'search_files **/lib.rs, the reference MCP server': () => their.callTool({ name: 'search_files', arguments: { path: tree, pattern: '**/lib.rs' } }),
}, OFTEN));
for (const each of [our, their, workspace]) await each.close();
rmSync(home, { recursive: true });
process.exit();
