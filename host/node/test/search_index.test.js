/** The search index: a search returns the same with and without it, and does not open files that cannot match. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs, { renameSync, statSync, statfsSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { fixture, open } from './support.js';

const FILES = 400;

/** Time after which a changed file can be indexed, with this policy. */
const SETTLING_MS = 2_100;
const POLICY = { index: { min_age_seconds: 2 } };

/** The types of file systems with an index that build machines have: ext4, XFS, Btrfs. */
const INDEXABLE = [0xef53, 0x58465342, 0x9123683e];

/** @param {import('node:test').TestContext} t @returns Whether files of temporary directories can be indexed; otherwise the test is skipped. */
function canBeIndexed(t, { top }) {
  const has = process.platform === 'linux' && INDEXABLE.includes(statfsSync(top).type);
  if (!has) t.skip(`the file system of ${top} does not record every change of a file`);
  return has;
}

function tree() {
  return fixture(Object.fromEntries(Array.from({ length: FILES }, (_, number) => [`${number % 4}/f${number}`, `line one of ${number}\nthe end\n`])));
}

/** Returns the result of a function, and the number of calls of `openSync` during it. */
async function opened(body) {
  const { openSync } = fs;
  let count = 0;
  fs.openSync = (...args) => {
    count += 1;
    return openSync(...args);
  };
  syncBuiltinESMExports();
  try {
    return [await body(), count];
  } finally {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  }
}

test('indexed files are not opened, and changed files are', async (t) => {
  const here = tree();
  if (!canBeIndexed(t, here)) return;
  const workspace = await open(here, { thread: false, policy: POLICY });
  const search = () => workspace.call('grep', { pattern: 'needle_in' });
  const [before, openedBefore] = await opened(search);
  await setTimeout(SETTLING_MS);
  assert.deepEqual(await workspace.updateIndex(), { added: FILES, unsettled: 0, isComplete: true });
  assert.deepEqual(await workspace.updateIndex(), { added: 0, unsettled: 0, isComplete: true });
  const [after, openedAfter] = await opened(search);
  assert.deepEqual(after, before);
  // A search without a match reads the files twice, and both times some before it opens the index.
  assert.ok(openedBefore >= 2 * FILES && openedAfter * 4 < openedBefore, `${openedBefore}, ${openedAfter}`);

  // The same size and modification time, and another file of the same name.
  const { atime, mtime, size } = statSync(here.at('1/f101'));
  writeFileSync(here.at('1/f101'), 'needle_in it'.padEnd(size, '-'));
  utimesSync(here.at('1/f101'), atime, mtime);
  writeFileSync(here.at('new'), 'needle_in another');
  renameSync(here.at('new'), here.at('2/f102'));
  const found = await search();
  assert.deepEqual(found.result.matches.map(({ path }) => path), ['1/f101', '2/f102']);
  const planned = await workspace.call('replace', { pattern: 'needle_in', replacement: 'found' });
  assert.equal(planned.result.total_files, 2);
});

test('the command adds all files', async (t) => {
  const here = tree();
  if (!canBeIndexed(t, here)) return;
  await setTimeout(SETTLING_MS);
  const run = (...args) => spawnSync(process.execPath, [fileURLToPath(new URL('../src/cli.js', import.meta.url)), 'index', '--root', here.root, '--state-dir', here.state, ...args], { encoding: 'utf8', env: { ...process.env, PADDOCK_POLICY: JSON.stringify(POLICY) } });
  assert.deepEqual(JSON.parse(run().stdout), { added: FILES, unsettled: 0 });
  assert.deepEqual(JSON.parse(run().stdout), { added: 0, unsettled: 0 });
  const { status, stderr } = run('operand');
  assert.equal(status, 2);
  assert.match(stderr, /`index` takes no argument `operand`/);
});

test('without a state directory or with a policy against it, nothing is indexed', async () => {
  const here = tree();
  await setTimeout(SETTLING_MS);
  const nothing = { added: 0, unsettled: 0, isComplete: true };
  for (const options of [{ stateDir: false }, { policy: { index: { enabled: false } } }, { readOnly: true }]) {
    const workspace = await open(here, { policy: POLICY, ...options });
    assert.deepEqual(await workspace.updateIndex(), nothing, JSON.stringify(options));
  }
});
