/**
 * A process that swaps directories and links while the host works: nothing outside the workspace is read, found or
 * changed. `PADDOCK_RACES` is how many calls of tools are raced, and the system's functions as often again; a host that
 * checks a path and then opens it has to fail the same.
 */

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workspace } from '../src/index.js';
import { DescriptorDirectory, HAS_PROC } from '../src/wasi/directory.js';
import { Descriptor, OpenFiles } from '../src/wasi/filesystem.js';

const CALLS = Number(process.env.PADDOCK_RACES ?? 100_000);
const SECRET = 'SECRET\n';
const NO_FOLLOW = {};
const READ = { read: true };
const NEW = { read: true, write: true };

describe('races', { skip: HAS_PROC ? false : 'names are reached by paths here, which a fast process can redirect' }, () => {
  let top;
  let flipper;
  let outside;
  /** The directory that is swapped, whatever has its name. */
  let inside;

  before(async () => {
    top = realpathSync(mkdtempSync(join(tmpdir(), 'paddock-race-')));
    for (const directory of ['ws', 'ws/d', 'outside']) mkdirSync(join(top, directory));
    for (const name of ['f', 'g', 'v']) writeFileSync(join(top, 'outside', name), SECRET);
    writeFileSync(join(top, 'outside/only-outside'), SECRET);
    for (const name of ['f', 'g']) writeFileSync(join(top, 'ws/d', name), 'inside\n');
    writeFileSync(join(top, 'file'), 'inside\n');
    symlinkSync('../outside', join(top, 'link'));
    symlinkSync('../outside/f', join(top, 'file-link'));
    outside = look();
    inside = DescriptorDirectory.root(join(top, 'ws/d'));
    flipper = fork(fileURLToPath(new URL('races/flip.js', import.meta.url)), [top]);
    await new Promise((resolve) => flipper.once('message', resolve));
  });

  after(async () => {
    assert.equal(flipper.exitCode, null, 'nothing was swapped any more');
    const gone = new Promise((resolve) => flipper.once('exit', resolve));
    flipper.kill('SIGKILL');
    await gone;
    rmSync(top, { recursive: true });
  });

  /** What is outside: names and contents. */
  function look() {
    return readdirSync(join(top, 'outside')).sort().map((name) => [name, readFileSync(join(top, 'outside', name), 'utf8')]);
  }

  /** Calls `act` so often; how often it told something, and how often it failed. */
  function race(calls, act) {
    const ended = { told: 0, refused: 0 };
    for (let index = 0; index < calls; index += 1) {
      try {
        ended.told += act(index) === undefined ? 0 : 1;
      } catch (error) {
        assert.equal(typeof error, 'string', `not a code: ${error?.stack}`);
        ended.refused += 1;
      }
    }
    return ended;
  }

  function provider() {
    const files = new OpenFiles();
    return { files, root: Descriptor.preopen(files, DescriptorDirectory.root(join(top, 'ws')), true) };
  }

  const bytes = (descriptor) => Buffer.from(descriptor.read(100n, 0n)[0]).toString();

  test('a host that checks, then opens, is redirected (the control)', () => {
    let redirected = 0;
    for (let index = 0; index < CALLS && redirected === 0; index += 1) {
      try {
        const path = join(top, 'ws/d/f');
        if (!realpathSync.native(path).startsWith(join(top, 'ws/'))) continue;
        redirected += readFileSync(path, 'utf8') === SECRET ? 1 : 0;
      } catch {
        // It was neither there nor elsewhere.
      }
    }
    assert.ok(redirected > 0, 'the race is too slow to find anything');
  });

  const part = (share) => Math.ceil(CALLS * share);

  test('reads', (t) => {
    const { files, root } = provider();
    const ended = race(part(0.3), (index) => {
      const file = index % 2 === 0 ? root.openAt(NO_FOLLOW, 'd/f', {}, READ) : root.openAt(NO_FOLLOW, 'd', { directory: true }, READ).openAt(NO_FOLLOW, 'f', {}, READ);
      const told = bytes(file);
      files.closeAll();
      assert.equal(told, 'inside\n');
      return told;
    });
    t.diagnostic(JSON.stringify(ended));
    assert.ok(ended.told > 0 && ended.refused > 0, 'nothing was raced');
  });

  test('a file that becomes a link', (t) => {
    const { files, root } = provider();
    const ended = race(part(0.2), () => {
      const told = bytes(root.openAt(NO_FOLLOW, 'l', {}, NEW));
      files.closeAll();
      assert.equal(told, 'inside\n');
      return told;
    });
    t.diagnostic(JSON.stringify(ended));
    assert.ok(ended.told > 0 && ended.refused > 0, 'nothing was raced');
  });

  test('looks and listings', () => {
    const { files, root } = provider();
    race(part(0.2), (index) => {
      if (index % 2 === 0) {
        assert.throws(() => root.statAt(NO_FOLLOW, 'd/only-outside'), (code) => code !== undefined);
        return;
      }
      const entries = root.openAt(NO_FOLLOW, 'd', { directory: true }, READ).readDirectory();
      for (let entry = entries.readDirectoryEntry(); entry; entry = entries.readDirectoryEntry()) {
        assert.notEqual(entry.name, 'only-outside');
      }
      files.closeAll();
      return true;
    });
  });

  test('changes', () => {
    const { files, root } = provider();
    race(part(0.3), (index) => {
      const acts = [
        () => root.openAt(NO_FOLLOW, `d/new-${index}`, { create: true, exclusive: true }, NEW).write(Buffer.from('x'), 0n),
        () => root.unlinkFileAt('d/v'),
        () => root.renameAt('d/v', root, 'stolen'),
        () => root.linkAt(NO_FOLLOW, 'd/only-outside', root, 'linked'),
        () => root.createDirectoryAt(`d/dir-${index}`),
        () => root.openAt(NO_FOLLOW, 'd/g', {}, NEW).write(Buffer.from('changed'), 0n),
      ];
      try {
        acts[index % acts.length]();
      } finally {
        files.closeAll();
      }
      return true;
    });
    assert.deepEqual(look(), outside);
    assert.ok(!readdirSync(join(top, 'ws')).some((name) => name === 'stolen' || name === 'linked'));
    for (const { name } of inside.list()) if (name.startsWith('new-') || name.startsWith('dir-')) rmSync(inside.entry(name), { recursive: true });
  });

  test('whole calls', async (t) => {
    const workspace = await Workspace.open(join(top, 'ws'), { stateDir: join(top, 'state'), thread: false });
    const ended = { ok: 0, failed: 0 };
    for (let index = 0; index < CALLS; index += 1) {
      const [tool, args] = [
        ['read_file', { path: 'd/f' }],
        ['read_file', { path: 'l' }],
        ['grep', { pattern: 'SECRE[T]' }],
        ['list_dir', { depth: 3 }],
        ['stat', { path: 'd/only-outside' }],
      ][index % 5];
      const { ok, text } = await workspace.call(tool, args);
      assert.ok(!text.includes('SECRET') && !(ok && text.includes('only-outside')), text);
      ended[ok ? 'ok' : 'failed'] += 1;
    }
    // Each of these waits for the disk some times.
    for (let index = 0; index < 100; index += 1) {
      await workspace.call('write_file', { path: 'd/g', content: 'changed\n' });
      await workspace.call('delete', { path: 'd/v' });
    }
    workspace.close();
    t.diagnostic(JSON.stringify(ended));
    assert.deepEqual(look(), outside);
    assert.ok(ended.ok > 0 && ended.failed > 0, 'nothing was raced');
    t.diagnostic(`${CALLS} calls of tools were raced`);
  });
});
