/**
 * Benchmark of five operations: by this host, by the same component on jco's stock shim, and by plain Node code, in
 * turns and in separate directories. Prints a table in Markdown. Usage: node bench/bench.js [FILES]
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Workspace } from '../src/index.js';
import { durationText, head, measure, row } from './measure.js';
import * as plain from './plain.js';
import { reads, stock } from './stock.js';

const FILES = Number(process.argv[2] ?? 1_000);
const EDITS = [['0123', '0124'], ['0124', '0123']];

/**
 * Each operation as a tool call and as plain code. `turn` counts the calls, so that each edit finds the text of the
 * previous one.
 */
const OPERATIONS = {
  'read 4 KB': {
    tool: 'read_file',
    args: () => ({ path: '4k.txt' }),
    plain: (top) => plain.read(join(top, '4k.txt')),
    often: { rounds: 25, calls: 200 },
  },
  'edit 4 KB, durable but in plain Node': {
    tool: 'edit_file',
    args: (turn) => ({ path: '4k.txt', edits: [{ old_text: EDITS[turn % 2][0], new_text: EDITS[turn % 2][1], replace_all: true }] }),
    plain: (top, turn) => plain.edit(join(top, '4k.txt'), ...EDITS[turn % 2]),
    often: { rounds: 9, calls: 10 },
  },
  'list a directory of 100': {
    tool: 'list_dir',
    args: () => ({ path: 'all/000' }),
    plain: (top) => plain.list(join(top, 'all/000')),
    often: { rounds: 15, calls: 20 },
  },
  [`glob over ${FILES} files`]: {
    tool: 'glob',
    args: () => ({ path: 'all', pattern: '**/*99.txt' }),
    plain: (top) => plain.glob(join(top, 'all'), /99\.txt$/),
    often: { rounds: 9, calls: 3 },
  },
  [`grep over ${FILES} files`]: {
    tool: 'grep',
    args: () => ({ path: 'all', pattern: 'needle$', output: 'count', limit: 10_000 }),
    plain: (top) => plain.grep(join(top, 'all'), /needle$/),
    often: { rounds: 9, calls: 3 },
  },
};

const home = mkdtempSync(join(tmpdir(), 'paddock-bench-'));
const opened = [];

/** Files of some 4 KB, a hundred in a directory; in every tenth the word that is searched for. */
function directory(name) {
  const top = join(home, name);
  for (let number = 0; number < FILES; number += 1) {
    const below = join(top, 'all', String(Math.floor(number / 100)).padStart(3, '0'));
    mkdirSync(below, { recursive: true });
    const lines = Array.from({ length: 80 }, (_, line) => `line ${line} of file ${number}, with some more words in it`);
    if (number % 10 === 0) lines[40] += ' needle';
    writeFileSync(join(below, `${String(number).padStart(5, '0')}.txt`), `${lines.join('\n')}\n`);
  }
  writeFileSync(join(top, '4k.txt'), '0123456789abcdef0123456789abcde\n'.repeat(128));
  return top;
}

/** Calls tools in a workspace of this host. */
async function ours(name, options) {
  const workspace = await Workspace.open(directory(name), { stateDir: join(home, `${name}-state`), ...options });
  opened.push(workspace);
  return ({ tool, args }, turn) => workspace.call(tool, args(turn), { throws: true });
}

/** Calls tools of the component on the stock shim. */
async function theirs(top) {
  const call = await stock(top);
  return ({ tool, args }, turn) => {
    const { ok, text } = call(tool, JSON.stringify(args(turn)));
    if (!ok) throw new Error(text);
  };
}

const bare = directory('plain');
const shimmed = directory('stock');
const ways = {
  'in this thread': await ours('here', { thread: false }),
  'in a thread of its own': await ours('threaded', {}),
  'the stock shim': await theirs(shimmed),
  'plain Node': (operation, turn) => operation.plain(bare, turn),
};

head(['work', ...Object.keys(ways), 'here to plain', 'the shim to here']);
for (const [name, operation] of Object.entries(OPERATIONS)) {
  const kinds = Object.entries(ways).map(([way, act]) => {
    let turn = 0;
    return [way, () => act(operation, turn++)];
  });
  const medians = await measure(Object.fromEntries(kinds), operation.often);
  const [here, threaded, shim, plainly] = medians.values();
  row([name, ...[here, threaded, shim, plainly].map(durationText), (here / plainly).toPrecision(2), (shim / here).toPrecision(2)]);
}

console.log('\nThe stock shim alone, 4 KB of a file:');
for (const [way, time] of await measure(await reads(shimmed), { rounds: 15, calls: 200 })) console.log(`- ${way}: ${durationText(time)}`);
for (const workspace of opened) workspace.close();
rmSync(home, { recursive: true });
process.exit();
