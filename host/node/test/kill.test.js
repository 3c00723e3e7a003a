/**
 * A process or thread is killed during a change: the file has the old text or the new one, and no temporary file
 * remains.
 */

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TEXTS } from './kill/texts.js';
import { fixture, open } from './support.js';

const ROUNDS = Number(process.env.PADDOCK_KILLS ?? 20);

async function checkAfter(here) {
  assert.ok(TEXTS.includes(readFileSync(here.at('text.txt'), 'utf8')), 'neither the old text nor the new one');
  const workspace = await open(here);
  const { ok, text } = await workspace.call('edit_file', { path: 'text.txt', edits: [{ old_text: 'none of it', new_text: 'x' }] });
  assert.ok(!ok, text);
  workspace.close();
  assert.ok(TEXTS.includes(readFileSync(here.at('text.txt'), 'utf8')));
  assert.deepEqual(readdirSync(here.root), ['text.txt'], 'something was left behind');
}

test('a process', async () => {
  const here = fixture({ 'text.txt': TEXTS[0] });
  for (let round = 0; round < ROUNDS; round += 1) {
    const child = fork(fileURLToPath(new URL('kill/change.js', import.meta.url)), [here.root, here.state]);
    const gone = new Promise((resolve) => child.once('exit', resolve));
    await new Promise((resolve) => child.once('message', resolve));
    await sleep(5 + Math.random() * 60);
    child.kill('SIGKILL');
    await gone;
    await checkAfter(here);
  }
});

test('a thread', async () => {
  const here = fixture({ 'text.txt': TEXTS[0] });
  const workspace = await open(here, { threads: 1 });
  let ended = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const ending = new AbortController();
    setTimeout(() => ending.abort(), Math.random() * 30);
    for (let index = 0; !ending.signal.aborted; index += 1) {
      const { error } = await workspace.call('write_file', { path: 'text.txt', content: TEXTS[index % 2] }, { signal: ending.signal });
      if (error) {
        assert.equal(error.code, 'cancelled', JSON.stringify(error));
        ended += 1;
      }
    }
    await checkAfter(here);
  }
  assert.ok(ended > 0, 'no call was ended');
});
