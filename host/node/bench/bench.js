/**
 * The same work by this host, by plain code of Node, by the stock shim and by the reference MCP server, in turns, so
 * that the ratios hold where the machine drifts. Usage: node bench/bench.js [DIRECTORY to search]
 */

import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Workspace } from '../src/index.js';
import { stock } from './stock.js';

const tree = process.argv[2] ?? registry();
const home = mkdtempSync(join(tmpdir(), 'paddock-bench-'));
const root = join(home, 'ws');
mkdirSync(root);
writeFileSync(join(root, 'a.txt'), 'a line of some thirty bytes..\n'.repeat(137).slice(0, 4096));
for (let index = 0; index < 10; index += 1) writeFileSync(join(root, `p${index}.txt`), 'one\n'.repeat(50));

/** Where cargo keeps unpacked crates: some ten thousand files of real code. */
function registry() {
  const sources = join(homedir(), '.cargo/registry/src');
  return join(sources, readdirSync(sources)[0]);
}

/** Medians of each kind of work, all of them in turns, in milliseconds. */
async function measure(kinds, { rounds, calls }) {
  const times = new Map(Object.keys(kinds).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, act] of Object.entries(kinds)) {
      const began = performance.now();
      for (let call = 0; call < calls; call += 1) await act();
      times.get(name).push((performance.now() - began) / calls);
    }
  }
  return new Map([...times].map(([name, all]) => [name, all.sort((one, other) => one - other)[all.length >> 1]]));
}

function show(title, medians) {
  console.log(`\n${title}`);
  for (const [name, time] of medians) {
    console.log(`  ${name.padEnd(44)} ${time < 1 ? `${(time * 1000).toFixed(1)} µs` : `${time.toFixed(1)} ms`}`);
  }
}

const PATTERN = 'fn [a-z_]+_unchecked';

/** What a JavaScript program does that wants no tool for it: a walk, and a RegExp over each file. */
function walk(directory, pattern) {
  let found = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.name.startsWith('.')) continue;
    if (entry.isDirectory()) found += walk(path, pattern);
    else if (entry.isFile()) for (const line of readFileSync(path, 'utf8').split('\n')) found += pattern.test(line) ? 1 : 0;
  }
  return found;
}

async function reference(directory) {
  const server = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'));
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [server, directory], stderr: 'ignore' }));
  return client;
}

async function ours(directory) {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const cli = fileURLToPath(new URL('../src/cli.js', import.meta.url));
  const env = { ...process.env, PADDOCK_STATE_DIR: join(home, 'mcp-state') };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [cli, 'mcp', directory], env }));
  return client;
}

const here = await Workspace.open(root, { stateDir: join(home, 'state'), thread: false });
const threaded = await Workspace.open(root, { stateDir: join(home, 'state') });
const shim = await stock(root);
const read = { path: 'a.txt' };
const files = await measure(
  {
    'fs.readFileSync': () => readFileSync(join(root, 'a.txt'), 'utf8'),
    'call, in this thread': () => here.call('read_file', read),
    'call, in a thread of its own': () => threaded.call('read_file', read),
    'the same component by the stock shim': () => shim('read_file', JSON.stringify(read)),
  },
  { rounds: 15, calls: 200 },
);
show('read 4 KB', files);
const ratio = (name, other) => (files.get(name) / files.get(other)).toFixed(1);
console.log(`  ${ratio('call, in this thread', 'fs.readFileSync')} times fs.readFileSync; the stock shim takes ${ratio('the same component by the stock shim', 'call, in this thread')} times as long`);

let flip = 0;
const edit = { path: 'a.txt', old: 'a line', next: 'A line' };
show(
  'changes, durable',
  await measure(
    {
      edit_file: () => {
        flip += 1;
        const [old_text, new_text] = flip % 2 ? [edit.old, edit.next] : [edit.next, edit.old];
        return threaded.call('edit_file', { path: edit.path, edits: [{ old_text, new_text, replace_all: true }] });
      },
      'list_dir': () => threaded.call('list_dir', {}),
    },
    { rounds: 9, calls: 4 },
  ),
);

const search = await Workspace.open(tree, { readOnly: true, stateDir: false, limits: { max_time_ms: 120_000 } });
const grep = { pattern: PATTERN, output: 'count', limit: 100_000 };
const { result } = await search.call('grep', grep);
console.log(`\n${tree}: ${result.files_searched} files, ${(result.bytes_searched / 1e6).toFixed(0)} MB, ${result.files.reduce((sum, { count }) => sum + count, 0)} lines match`);
show('search by content', await measure({ grep: () => search.call('grep', grep), 'walk and RegExp': () => walk(tree, new RegExp(PATTERN)) }, { rounds: 5, calls: 1 }));

const [their, our] = [await reference(tree), await ours(tree)];
const byName = {
  'reference server: search_files **/lib.rs': () => their.callTool({ name: 'search_files', arguments: { path: tree, pattern: '**/lib.rs' } }),
  'npx paddock mcp: glob **/lib.rs': () => our.callTool({ name: 'glob', arguments: { pattern: '**/lib.rs', limit: 100_000 } }),
  'npx paddock mcp: grep by content': () => our.callTool({ name: 'grep', arguments: grep }),
};
show('over MCP', await measure(byName, { rounds: 5, calls: 1 }));
for (const client of [their, our]) await client.close();
for (const workspace of [here, threaded, search]) workspace.close();
rmSync(home, { recursive: true });
process.exit();
