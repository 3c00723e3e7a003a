import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Workspace } from '../src/index.js';

test('a root that is named through a link is reached by that name, but not another directory that later gets the name', async () => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'paddock-')));
  try {
    for (const name of ['real', 'other']) {
      mkdirSync(join(top, name));
      writeFileSync(join(top, name, 'a.txt'), name);
    }
    symlinkSync(join(top, 'real'), join(top, 'link'));
    const workspace = await Workspace.open(join(top, 'link'));
    const read = async (/** @type {string} */ path) => (await workspace.call('read_file', { path: join(top, path) })).text;
    assert.match(await read('link/a.txt'), /real/);
    assert.match(await read('real/a.txt'), /real/);
    assert.match(await read('other/a.txt'), /it is in no root/);
    unlinkSync(join(top, 'link'));
    symlinkSync(join(top, 'other'), join(top, 'link'));
    assert.match(await read('link/a.txt'), /real/);
    await workspace.close?.();
  } finally {
    rmSync(top, { recursive: true });
  }
});
