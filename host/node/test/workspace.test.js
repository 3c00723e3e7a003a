/** Properties of workspaces beside their tools: opening, limits, cancellation, rights, approval, the lock. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PaddockError, Workspace, dialects, tools, unwrap } from '../src/index.js';
import { Descriptor } from '../src/wasi/filesystem.js';
import { OpenFiles } from '../src/wasi/open_files.js';
import { directoryAt, fixture, open } from './support.js';

/** Arguments of a search that takes longer than any test waits, because its automaton is too large for the cache. */
function slow(here) {
  for (let file = 0; file < 20; file += 1) writeFileSync(here.at(`slow-${file}.log`), randomBytes(1 << 18).map((byte) => 0x61 + (byte & 1)));
  return { pattern: '(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]', glob: '*.log' };
}

const failing = (code, message) => (error) => {
  assert.ok(error instanceof PaddockError, error?.stack);
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  return true;
};

test('the error of a failed open says what to do', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  await assert.rejects(Workspace.open(here.at('none')), failing('not-found', /cannot open the root `.*none`.*\n.*a directory that is there/s));
  await assert.rejects(Workspace.open(here.at('a.txt')), failing('not-a-directory', /not a directory/));
  await assert.rejects(open(here, { policy: { max_lines: 5 } }), failing('invalid-argument', /PADDOCK_POLICY: unknown field `max_lines`/));
  await assert.rejects(open(here, { limits: { max_lines: 'many' } }), failing('invalid-argument', /invalid type/));
  await assert.rejects(open(here, { policy: { backend: 'memory' } }), failing('invalid-argument', /`backend` is not a setting/));
  await assert.rejects(open(here, { policy: { enable_audit_logging: true } }), failing('invalid-argument', /keeps no audit/));
  await assert.rejects(open(here, { roots: [{ path: here.top, guest: '/a/b' }] }), failing('invalid-argument', /a guest path is/));
  await assert.rejects(open(here, { roots: [{ path: here.top, guest: '/workspace' }] }), failing('invalid-argument', /taken/));
  symlinkSync('..', here.at('up'));
  await assert.rejects(open(here, { roots: [{ path: here.at('up') }] }), failing('outside-workspace', /leads out of it/));
});

test('a tool’s failure is a value, or on request an exception', async () => {
  const workspace = await open(fixture({ 'a.txt': 'one\n' }));
  const outcome = await workspace.call('read_file', { path: 'b.txt' });
  assert.equal(outcome.error.code, 'not-found');
  assert.match(outcome.error.hint, /`a.txt`/);
  assert.throws(() => unwrap(outcome), failing('not-found', /b\.txt/));
  await assert.rejects(workspace.call('read_file', { path: 'b.txt' }, { throws: true }), failing('not-found', /b\.txt/));
  await assert.rejects(workspace.read({ path: 'b.txt' }), failing('not-found', /b\.txt/));
  assert.equal((await workspace.call('red_file', {})).error.code, 'unknown-tool');
  assert.equal((await workspace.call('read_file', '{')).error.code, 'invalid-argument');
  assert.equal((await workspace.call('read_file', {}, { dialect: 'none' })).error.code, 'unknown-dialect');
  await assert.rejects(workspace.tools({ dialect: 'none' }), failing('unknown-dialect', /none/));
});

test('errors of typed operations name methods of this host', async () => {
  const workspace = await open(fixture({ 'b.bin': '\0\x01\x02' }));
  const failures = [
    [() => workspace.read({ path: 'b.bin' }), '`read` with `mode: "base64"` gives its bytes'],
    [() => workspace.write({ path: 'x/', content: '' }), 'leave the `/` at the end out, or use `makeDirectory`'],
    [() => workspace.read({ path: '.' }), '`list` shows a directory'],
  ];
  for (const [call, hint] of failures) await assert.rejects(call, { name: 'PaddockError', hint });
});

test('typed operations', async () => {
  const here = fixture({ 'src/a.js': 'let a = 1;\nlet b = 2;\n' });
  const workspace = await open(here);
  const read = await workspace.read({ path: 'src/a.js', limit: 1 });
  assert.deepEqual([read.content, read.totalLines, read.nextOffset, read.size], ['let a = 1;', 2, 2, 22]);
  const edited = await workspace.edit({ path: 'src/a.js', edits: [{ oldText: 'a = 1', newText: 'a = 3' }], ifMatch: read.etag });
  assert.equal(edited.editsApplied, 1);
  const { matches } = await workspace.grep({ pattern: '= \\d' });
  assert.deepEqual(matches.map(({ path, line }) => [path, line]), [['src/a.js', 1], ['src/a.js', 2]]);
  assert.deepEqual((await workspace.glob({ pattern: '*.js' })).paths, ['src/a.js']);
  const { entries } = await workspace.readMany({ files: [{ path: 'src/a.js' }, { path: 'none' }] });
  assert.deepEqual(entries.map(({ outcome }) => outcome.tag), ['ok', 'err']);
  const plan = await workspace.replace({ pattern: 'let', replacement: 'var' });
  assert.equal(plan.applied, false);
  assert.equal((await workspace.replace({ pattern: 'let', replacement: 'var', plan: plan.plan })).totalReplacements, 2);
  const { token } = await workspace.changes();
  await workspace.copy({ source: 'src', destination: 'copy', recursive: true });
  assert.deepEqual((await workspace.changes({ since: token })).created, ['copy/a.js']);
  await workspace.move({ source: 'copy', destination: 'moved' });
  await workspace.delete({ path: 'moved', recursive: true });
  await workspace.makeDirectory({ path: 'x/y' });
  await workspace.write({ path: 'x/y/z.txt', content: 'z\n' });
  await workspace.applyPatch({ patch: '*** Begin Patch\n*** Delete File: x/y/z.txt\n*** End Patch\n' });
  await workspace.pack({ sources: ['src'], destination: 'src.zip' });
  await workspace.unpack({ source: 'src.zip', destination: 'again' });
  assert.equal((await workspace.stat({ path: 'again/src/a.js' })).lines, 2);
  assert.equal((await workspace.list({ path: 'again', depth: 2 })).totalFiles, 1);
  assert.match((await workspace.tree()).tree, /a\.js/);
  assert.ok((await workspace.history()).entries.length >= 8);
  await workspace.restore({ path: 'src/a.js' });
  assert.equal(readFileSync(here.at('src/a.js'), 'utf8'), 'let a = 3;\nlet b = 2;\n');
});

test('tools in each format', async () => {
  assert.ok((await dialects()).includes('codex'));
  const plain = await tools();
  assert.equal(plain[0].inputSchema.type, 'object');
  assert.deepEqual((await tools({ format: 'openai' }))[0].function.name, plain[0].name);
  assert.deepEqual((await tools({ format: 'anthropic' }))[0].input_schema, plain[0].inputSchema);
  assert.deepEqual((await tools({ format: 'gemini' }))[0].functionDeclarations.length, plain.length);
  assert.equal(typeof (await tools({ format: 'mcp' }))[0].annotations.readOnlyHint, 'boolean');
  assert.equal((await tools({ dialect: 'chorus', format: 'openai' }))[0].function.name.includes('.'), false);
});

test('a call without end is stopped, and the next call works', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  const workspace = await open(here);
  const search = slow(here);
  const began = performance.now();
  const timed = await workspace.call('grep', search, { timeMs: 150 });
  assert.equal(timed.error.code, 'limit-exceeded');
  const ending = new AbortController();
  setTimeout(() => ending.abort(), 150);
  const cancelled = await workspace.call('grep', search, { signal: ending.signal });
  assert.equal(cancelled.error.code, 'cancelled');
  assert.ok(performance.now() - began < 5_000);
  assert.ok((await workspace.call('read_file', { path: 'a.txt' })).ok);
  assert.equal((await workspace.call('read_file', { path: 'a.txt' }, { signal: AbortSignal.abort() })).error.code, 'cancelled');
});

test('a call that waits for a thread can be cancelled too', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  const workspace = await open(here, { threads: 1 });
  const first = workspace.call('grep', slow(here), { timeMs: 400 });
  const ending = new AbortController();
  const second = workspace.call('read_file', { path: 'a.txt' }, { signal: ending.signal });
  const third = workspace.call('read_file', { path: 'a.txt' });
  ending.abort();
  assert.equal((await second).error.code, 'cancelled');
  assert.equal((await first).error.code, 'limit-exceeded');
  assert.ok((await third).ok);
});

test('memory is limited', async () => {
  const here = fixture({ 'big.txt': `${'a line of text\n'.repeat(600_000)}last\n` });
  const workspace = await open(here, { limits: { max_memory_bytes: 12 * 1024 * 1024, max_file_bytes: 64 * 1024 * 1024 } });
  const { error } = await workspace.call('edit_file', { path: 'big.txt', edits: [{ old_text: 'last', new_text: 'end' }] });
  assert.equal(error.code, 'limit-exceeded', JSON.stringify(error));
  assert.match(error.message, /memory/);
  assert.ok((await workspace.call('stat', { path: 'big.txt' })).ok);
});

test('rights: read-only, further roots, blocked directories', async () => {
  const here = fixture({ 'a.txt': 'one\n', 'lib/b.txt': 'b\n' });
  for (const name of ['other', 'third']) mkdirSync(join(here.top, name));
  writeFileSync(join(here.top, 'other/o.txt'), 'o\n');
  const workspace = await open(here, {
    roots: [{ path: join(here.top, 'other'), access: 'read-only' }],
    policy: { allowed_directories: [join(here.top, 'third')], blocked_directories: [here.at('lib')] },
  });
  assert.equal((await workspace.read({ path: '/other/o.txt' })).content, 'o');
  assert.equal((await workspace.read({ path: join(here.top, 'other/o.txt') })).path, '/other/o.txt');
  assert.equal((await workspace.call('write_file', { path: '/other/o.txt', content: 'x' })).error.code, 'read-only');
  assert.ok((await workspace.call('write_file', { path: '/third/t.txt', content: 'x' })).ok);
  assert.equal((await workspace.call('read_file', { path: 'lib/b.txt' })).error.code, 'denied');
  const narrow = await open(here, { readOnly: true });
  assert.equal((await narrow.call('write_file', { path: 'a.txt', content: 'x' })).error.code, 'read-only');
  assert.equal(readFileSync(here.at('a.txt'), 'utf8'), 'one\n');
});

test('tools cannot reach the host’s own files', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  const workspace = await open(here, { stateDir: here.at('state') });
  await workspace.write({ path: 'a.txt', content: 'two\n' });
  assert.ok(existsSync(here.at('state')));
  assert.ok(['denied', 'not-found'].includes((await workspace.call('list_dir', { path: 'state' })).error.code));
  const { paths } = await workspace.glob({ pattern: '**', includeHidden: true, includeIgnored: true });
  assert.deepEqual(paths, ['a.txt']);
});

test('a hidden name looks like a missing one', () => {
  const here = fixture({ journal: 'x\n', other: 'y\n' });
  const directory = directoryAt(here.root);
  const files = new OpenFiles();
  const [all, some] = [undefined, (/** @type {string} */ name) => name === 'journal'].map((hidden) => Descriptor.preopen(files, directory, false, hidden));
  assert.equal(all.statAt({}, 'journal').size, 2n);
  for (const act of [() => some.statAt({}, 'journal'), () => some.openAt({}, 'journal', {}, { read: true })]) {
    assert.throws(act, (code) => code === 'no-entry');
  }
  assert.equal(some.statAt({}, 'other').size, 2n);
  directory.close();
});

test('a person is asked for approval', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  const workspace = await open(here, { policy: { approval: 'on-change' } });
  const write = (approver) => workspace.call('write_file', { path: 'a.txt', content: 'two\n' }, { approver });
  const unasked = await write();
  assert.deepEqual([unasked.error.code, unasked.plan.paths], ['approval-required', ['a.txt']]);
  assert.equal(unasked.plan.summary, 'write `a.txt` (a file of 4 bytes)\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n');
  assert.equal(unasked.plan.omittedBytes, 0);
  const long = await workspace.call('write_file', { path: 'long', content: 'x\n'.repeat(200_000) });
  assert.ok(long.plan.omittedBytes > 300_000 && long.plan.summary.length < 270_000, `${long.plan.omittedBytes}`);
  assert.equal((await write(() => false)).error.code, 'denied');
  assert.match((await write(() => ({ refused: 'not on a Friday' }))).text, /not on a Friday/);
  assert.equal((await write(() => 'later')).error.code, 'approval-required');
  assert.equal(readFileSync(here.at('a.txt'), 'utf8'), 'one\n');
  const digests = [];
  // The file changes while the person decides, so the person is asked about the new plan.
  const approved = await write(async (plan) => {
    if (digests.push(plan.digest) === 1) writeFileSync(here.at('a.txt'), 'changed\n');
    return true;
  });
  assert.ok(approved.ok, approved.text);
  assert.equal(new Set(digests).size, 2);
  assert.equal(readFileSync(here.at('a.txt'), 'utf8'), 'two\n');
});

test('changing calls wait for each other, in this process and in others', async () => {
  const here = fixture({ 'n.txt': '0\n' });
  const [one, other] = [await open(here), await open(here)];
  const appended = [];
  for (let index = 0; index < 20; index += 1) {
    appended.push([one, other][index % 2].call('write_file', { path: 'n.txt', content: `${index}\n`, append: true }));
  }
  for (const { ok, text } of await Promise.all(appended)) assert.ok(ok, text);
  assert.equal(readFileSync(here.at('n.txt'), 'utf8').split('\n').length, 22);
});

test('the lock is the one that `flock` takes', { skip: existsSync('/usr/bin/flock') ? false : 'there is no flock here' }, async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  const workspace = await open(here);
  await workspace.write({ path: 'a.txt', content: 'two\n' });
  const holder = spawn('/usr/bin/flock', [join(here.state, 'lock'), 'sh', '-c', 'echo held; sleep 60'], { detached: true });
  await new Promise((resolve) => holder.stdout.once('data', resolve));
  const { error } = await workspace.call('write_file', { path: 'a.txt', content: 'x' }, { timeMs: 300 });
  assert.equal(error.code, 'limit-exceeded');
  assert.ok((await workspace.call('read_file', { path: 'a.txt' })).ok);
  const released = new Promise((resolve) => holder.once('exit', resolve));
  process.kill(-holder.pid, 'SIGKILL');
  await released;
});

test('a file that this user may not read fails with `permission-denied`', { skip: process.getuid?.() === 0 ? 'root may do everything' : false }, async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  chmodSync(here.at('a.txt'), 0o000);
  const workspace = await open(here);
  assert.equal((await workspace.call('read_file', { path: 'a.txt' })).error.code, 'permission-denied');
});
