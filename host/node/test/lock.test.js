/** The lock of systems without `flock`. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { byHolder } from '../src/disk/lock.js';
import { fixture } from './support.js';

const soon = () => performance.now() + 50;

test('one call holds it at a time, and the lock of a process that has ended is removed', () => {
  const here = fixture();
  const path = join(here.top, 'lock.holder');
  const release = byHolder(path, soon(), `${process.pid}.one`);
  assert.throws(() => byHolder(path, soon(), `${process.pid}.other`), ({ code }) => code === 'limit-exceeded');
  release();
  assert.ok(!existsSync(path));
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  writeFileSync(path, `${pid}.gone`);
  byHolder(path, soon(), `${process.pid}.next`)();
  assert.deepEqual(readdirSync(here.top), ['ws']);
});
