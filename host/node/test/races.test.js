/**
 * Another process swaps names while the host works: nothing outside the workspace is read, found or changed, and no
 * call hangs. `PADDOCK_RACES` is the number of attempts by tool calls, and again by direct calls of the provider. An
 * attempt is one swapped name on the path of a call. The control, a host that checks a path and then opens it, must
 * fail in the same race.
 */

import assert from 'node:assert/strict';
import { readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Workspace } from '../src/index.js';
import { HAS_PROC } from '../src/wasi/directory.js';
import { Descriptor } from '../src/wasi/filesystem.js';
import { OpenFiles } from '../src/wasi/open_files.js';
import { Arena, CANARY, ONLY_OUTSIDE } from './races/arena.js';
import { calls } from './races/calls.js';
import { Table } from './races/table.js';
import { directoryAt } from './support.js';

const ATTEMPTS = Number(process.env.PADDOCK_RACES ?? 100_000);
/** Maximum time of a call in milliseconds, less than the call's own time limit. */
const DEADLINE = 20_000;
/**
 * Number of calls between two checks of the files. It is smaller than the number of retained backups, so that every
 * backup is checked.
 */
const CHECKS_EVERY = 250;
const NO_FOLLOW = {};
const READ = { read: true };
const NEW = { read: true, write: true };

describe('races', { skip: HAS_PROC ? false : 'names are reached by paths here, which a fast process can redirect' }, () => {
  let arena;
  /** The swapped directory, held open under any name. */
  let inside;

  before(async () => {
    arena = new Arena();
    inside = directoryAt(arena.at('ws/d'));
    await arena.start();
  });

  after(async () => {
    await arena.stop();
    arena.remove();
  });

  /**
   * Calls `act` at least this many times, and until it has both succeeded and been refused, because a busy machine may
   * stop the swapping process for a while. Returns the number of calls. `act` receives the workspace in the form in
   * which a guest gets it.
   */
  function race(calls, act) {
    const files = new OpenFiles();
    const workspace = directoryAt(arena.at('ws'));
    after(() => workspace.close());
    const ended = { read: 0, refused: 0 };
    const last = performance.now() + DEADLINE;
    const isRaced = () => (ended.read > 0 && ended.refused > 0) || performance.now() > last;
    for (let index = 0; index < calls || !isRaced(); index += 1) {
      try {
        ended.read += act(index, Descriptor.preopen(files, workspace, true)) === undefined ? 0 : 1;
      } catch (error) {
        assert.equal(typeof error, 'string', `not a code: ${error?.stack}`);
        ended.refused += 1;
      } finally {
        files.closeAll();
      }
    }
    assert.ok(ended.read > 0 && ended.refused > 0, 'nothing was raced');
    return ended;
  }

  /** The swapped directory, through which each name is reached. */
  const d = (root) => root.openAt(NO_FOLLOW, 'd', { directory: true }, READ);
  const bytes = (descriptor) => Buffer.from(descriptor.read(100n, 0n)[0]).toString();

  test('control: a host that checks a path and then opens it is redirected', () => {
    let redirected = 0;
    for (let index = 0; index < ATTEMPTS && redirected === 0; index += 1) {
      try {
        const path = arena.at('ws/d/f');
        if (!realpathSync.native(path).startsWith(arena.at('ws/'))) continue;
        redirected += readFileSync(path, 'utf8') === CANARY ? 1 : 0;
      } catch {
        // During the swap, neither name exists.
      }
    }
    assert.ok(redirected > 0, 'the race is too slow to find anything');
  });

  const part = (fraction) => Math.ceil(ATTEMPTS * fraction);

  test('reads', (t) => {
    const ended = race(part(0.3), (index, root) => {
      const opened = index % 2 === 0 ? root.openAt(NO_FOLLOW, 'd', {}, READ) : d(root);
      const file = opened.openAt(NO_FOLLOW, 'f', {}, READ);
      const text = bytes(file);
      assert.equal(text, 'inside\n');
      return text;
    });
    t.diagnostic(JSON.stringify(ended));
  });

  test('a file that becomes a link', (t) => {
    const ended = race(part(0.2), (_, root) => {
      const text = bytes(root.openAt(NO_FOLLOW, 'l', {}, NEW));
      assert.equal(text, 'inside\n');
      return text;
    });
    t.diagnostic(JSON.stringify(ended));
  });

  test('status and listings', () => {
    race(part(0.2), (index, root) => {
      if (index % 2 === 0) {
        assert.throws(() => d(root).statAt(NO_FOLLOW, ONLY_OUTSIDE), (code) => code !== undefined);
        return;
      }
      const entries = d(root).readDirectory();
      for (let entry = entries.readDirectoryEntry(); entry; entry = entries.readDirectoryEntry()) {
        assert.notEqual(entry.name, ONLY_OUTSIDE);
      }
      return true;
    });
  });

  test('changes', () => {
    race(part(0.3), (index, root) => {
      const acts = [
        () => d(root).openAt(NO_FOLLOW, `new-${index}`, { create: true, exclusive: true }, NEW).write(Buffer.from('x'), 0n),
        () => d(root).unlinkFileAt('v'),
        () => d(root).renameAt('v', root, 'stolen'),
        () => d(root).linkAt(NO_FOLLOW, ONLY_OUTSIDE, root, 'linked'),
        () => d(root).createDirectoryAt(`dir-${index}`),
        () => d(root).openAt(NO_FOLLOW, 'g', {}, NEW).write(Buffer.from('inside\n'), 0n),
      ];
      acts[index % acts.length]();
      return true;
    });
    arena.checkOutside();
    assert.ok(!readdirSync(arena.at('ws')).some((name) => name === 'stolen' || name === 'linked'));
    for (const { name } of inside.list()) if (name.startsWith('new-') || name.startsWith('dir-')) rmSync(inside.entry(name), { recursive: true });
  });

  test('whole calls', async (t) => {
    const workspace = await Workspace.open(arena.at('ws'), { stateDir: arena.at('state') });
    const table = new Table();
    for (const call of calls()) {
      if (table.all.attempts >= ATTEMPTS) break;
      // The entry was removed together with the directory into which it was moved.
      if (call.operation === 'move') writeFileSync(inside.entry('m'), 'inside\n');
      const began = performance.now();
      const outcome = await workspace.call(call.tool, call.args);
      table.count(call, outcome, performance.now() - began);
      assert.ok(table.all.slowest < DEADLINE, `${call.tool} ${JSON.stringify(call.args)} took ${table.all.slowest} ms`);
      if (table.all.calls % CHECKS_EVERY > 0) continue;
      arena.checkOutside();
      arena.checkStored();
    }
    await arena.stop();
    for (const line of table.lines()) t.diagnostic(line);
    arena.checkOutside();
    arena.checkStored();
    arena.checkInside();
    for (const operation of ['read', 'write', 'patch', 'copy', 'move']) {
      const { inside, refused } = table.rows[operation];
      assert.ok(inside > 0 && refused > 0, `nothing of \`${operation}\` was raced`);
    }
    assert.ok((await workspace.call('write_file', { path: 'plain', content: 'after' })).ok, 'it is not usable afterwards');
    workspace.close();
  });
});
