/** Workspaces in memory: whole trees are loaded and returned. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { PaddockError, Workspace } from '../src/index.js';

async function memory(options) {
  const workspace = await Workspace.memory(options);
  after(() => workspace.close());
  return workspace;
}

const text = (bytes) => Buffer.from(bytes).toString();

test('a tree is loaded and returned unchanged', async () => {
  const workspace = await memory();
  const long = `${'deep/'.repeat(40)}file.txt`;
  await workspace.load({ 'a.txt': 'one\n', 'dir/b.bin': Uint8Array.of(0, 255), empty: null, link: { link: 'a.txt' }, [long]: 'long\n', __proto__x: 'x' });
  const saved = await workspace.save();
  assert.deepEqual(Object.keys(saved).sort(), ['__proto__x', 'a.txt', long, 'dir/b.bin', 'empty', 'link'].sort());
  assert.deepEqual([saved['dir/b.bin'][1], saved.empty, saved.link], [255, null, { link: 'a.txt' }]);
  assert.equal(text(saved[long]), 'long\n');
  await workspace.load(saved);
  assert.deepEqual(await workspace.save(), saved);
});

test('a file can be named __proto__', async () => {
  const workspace = await memory();
  await workspace.load(Object.fromEntries([['__proto__', 'x'], ['constructor', 'y']]));
  const saved = await workspace.save();
  assert.deepEqual(Object.keys(saved).sort(), ['__proto__', 'constructor']);
  await workspace.loadZip(await workspace.saveZip());
  assert.deepEqual(Object.keys(await workspace.save()).sort(), ['__proto__', 'constructor']);
  assert.equal({}.x, undefined);
});

test('archives', async () => {
  const workspace = await memory({ limits: { max_tree_bytes: 100_000 } });
  await workspace.load({ 'a/b.txt': 'one\n', empty: null, link: { link: 'a' } });
  await assert.rejects(workspace.saveZip(), (error) => error instanceof PaddockError && /no symbolic links, such as `link`/.test(error.message));
  const zip = await workspace.saveZip({ skipLinks: true });
  await workspace.call('write_file', { path: 'c.txt', content: 'c' });
  await workspace.loadZip(zip);
  assert.deepEqual(Object.keys(await workspace.save()).sort(), ['a/b.txt', 'empty']);
  await assert.rejects(workspace.loadZip(Uint8Array.of(1, 2, 3)), (error) => error.code === 'invalid-argument');
  await assert.rejects(workspace.loadTar(new Uint8Array(600).fill(1)), (error) => error.code === 'invalid-argument');
  await assert.rejects(workspace.load({ '../out': 'x' }), (error) => error.code === 'invalid-argument');
  await assert.rejects(workspace.load({ big: new Uint8Array(200_000) }), (error) => error.code === 'no-space');
  const large = await memory();
  await large.load({ big: new Uint8Array(200_000) });
  const bomb = await large.saveZip();
  await assert.rejects(workspace.loadZip(bomb), (error) => error.code === 'no-space');
  assert.deepEqual(Object.keys(await workspace.save()).sort(), ['a/b.txt', 'empty']);
});

test('checkpoints', async () => {
  const workspace = await memory();
  await workspace.load({ 'a.txt': 'one\n' });
  await workspace.checkpoint('first');
  await workspace.edit({ path: 'a.txt', edits: [{ oldText: 'one', newText: 'two' }] });
  assert.deepEqual(await workspace.checkpoints(), ['first']);
  await workspace.rollback('first');
  assert.equal((await workspace.read({ path: 'a.txt' })).content, 'one');
  await assert.rejects(workspace.rollback('none'), (error) => error.code === 'not-found');
});

test('a cancelled call loses the tree, and the next call says so', async () => {
  const workspace = await memory();
  // In text of letters without a repeating pattern, the automaton is too large for the cache, so the search takes long
  // on any machine.
  await workspace.load({ 'a.log': randomBytes(2_000_000).map((byte) => 0x61 + (byte & 1)).toString('latin1') });
  const search = { pattern: '(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]' };
  assert.equal((await workspace.call('grep', search, { timeMs: 50 })).error.code, 'limit-exceeded');
  assert.equal((await workspace.call('stat', { path: '.' })).error.code, 'backend-gone');
});
