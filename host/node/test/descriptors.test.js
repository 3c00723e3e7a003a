/** The descriptors of a workspace stay open as long as a call may use them, and no longer. */

import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Workspace } from '../src/index.js';
import { HAS_PROC } from '../src/wasi/directory.js';
import { fixture } from './support.js';

/** Returns the number of descriptors of this process that lead into a directory. */
function openIn(directory) {
  const paths = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return paths.filter((path) => path === directory || path.startsWith(`${directory}/`)).length;
}

describe('descriptors', { skip: HAS_PROC ? false : 'only Linux tells which are open' }, () => {
  for (const thread of [true, false]) {
    test(`are closed with the workspace ${thread ? 'and its threads' : 'in this thread'}`, async () => {
      const here = fixture({ 'a.txt': 'one\n' });
      for (let round = 0; round < 5; round += 1) {
        const workspace = await Workspace.open(here.root, { stateDir: here.state, thread, threads: 4 });
        const calls = ['a.txt', 'b.txt', 'c.txt', 'd.txt'].map((path) => workspace.write({ path, content: 'x' }));
        await Promise.all(calls);
        const held = openIn(here.top);
        assert.ok(held >= 2 && held <= 4, `${held} for a root, the state directory and its parent`);
        await workspace.close();
        await workspace.close();
        assert.equal(openIn(here.top), 0);
        assert.equal((await workspace.call('read_file', { path: 'a.txt' })).error.code, 'backend-gone');
      }
    });

    test(`their number does not grow with calls ${thread ? 'in threads' : 'in this thread'}`, async () => {
      const here = fixture({ 'a.txt': 'one\n' });
      const workspace = await Workspace.open(here.root, { stateDir: here.state, thread });
      await workspace.write({ path: 'a.txt', content: '0\n' });
      const held = openIn(here.top);
      for (let call = 0; call < 50; call += 1) await workspace.write({ path: 'a.txt', content: `${call}\n` });
      assert.equal(openIn(here.top), held);
      await workspace.close();
    });
  }

  test('are closed if the workspace cannot be opened', async () => {
    const here = fixture({ 'a.txt': 'one\n' });
    for (const options of [{ policy: { max_lines: 5 } }, { roots: [{ path: here.at('none') }] }, { roots: [{ path: here.root, guest: '/a/b' }] }, { stateDir: here.at('a.txt') }]) {
      for (const thread of [true, false]) {
        await assert.rejects(Workspace.open(here.root, { stateDir: here.state, thread, ...options }));
        for (let wait = 0; wait < 100 && openIn(here.top) > 0; wait += 1) await sleep(20);
        assert.equal(openIn(here.top), 0, JSON.stringify(options));
      }
    }
  });

  test('are closed when the workspace is garbage-collected', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    const here = fixture({ 'a.txt': 'one\n' });
    for (const thread of [true, false]) {
      await (async () => {
        const workspace = await Workspace.open(here.root, { stateDir: here.state, thread });
        await workspace.write({ path: 'a.txt', content: 'x' });
        assert.ok(openIn(here.top) > 0);
      })();
      for (let round = 0; round < 100 && openIn(here.top) > 0; round += 1) {
        collect();
        await sleep(20);
      }
      assert.equal(openIn(here.top), 0);
    }
  });

  test('keep their numbers until the last thread has ended', async () => {
    // A terminated thread still finishes its present operation. Until then, the number of its root's descriptor must
    // not be reused for another directory.
    const here = fixture({ 'a.txt': 'one\n' });
    for (let round = 0; round < 10; round += 1) {
      const workspace = await Workspace.open(here.root, { stateDir: here.state, threads: 4 });
      const ending = new AbortController();
      const calls = Array.from({ length: 4 }, (_, index) => workspace.call('write_file', { path: `${index}.txt`, content: 'x' }, { signal: ending.signal }));
      await sleep(Math.random() * 20);
      // The thread of a cancelled call is terminated, but has not ended yet.
      if (round % 2 === 1) ending.abort();
      const closed = workspace.close();
      assert.ok(openIn(here.root) > 0, 'closed while threads were there');
      await Promise.all(calls);
      await closed;
      assert.equal(openIn(here.top), 0);
    }
  });
});
