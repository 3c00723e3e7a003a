/** The refusals and promises of the `wasi:filesystem` provider, for any request of a guest. */

import assert from 'node:assert/strict';
import fs, { chmodSync, chownSync, linkSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { HAS_PROC } from '../src/wasi/directory.js';
import { Descriptor } from '../src/wasi/filesystem.js';
import { OpenFiles } from '../src/wasi/open_files.js';
import { directoryAt, fixture } from './support.js';

const NO_FOLLOW = {};
const READ = { read: true };
const WRITE = { read: true, write: true };
const NEW = { create: true, exclusive: true };
const IS_ROOT = process.getuid?.() === 0;

/** Every function that takes a name, with example arguments; `at` is a directory, `other` a second one. */
const FUNCTIONS = {
  openAt: [(at, name) => at.openAt(NO_FOLLOW, name, {}, READ), (at, name) => at.openAt(NO_FOLLOW, name, NEW, WRITE), (at, name) => at.openAt(NO_FOLLOW, name, { directory: true }, READ)],
  statAt: [(at, name) => at.statAt(NO_FOLLOW, name)],
  metadataHashAt: [(at, name) => at.metadataHashAt(NO_FOLLOW, name)],
  createDirectoryAt: [(at, name) => at.createDirectoryAt(name)],
  removeDirectoryAt: [(at, name) => at.removeDirectoryAt(name)],
  unlinkFileAt: [(at, name) => at.unlinkFileAt(name)],
  readlinkAt: [(at, name) => at.readlinkAt(name)],
  symlinkAt: [(at, name) => at.symlinkAt('target', name)],
  linkAt: [(at, name, other) => at.linkAt(NO_FOLLOW, name, other, 'plain'), (at, name, other) => at.linkAt(NO_FOLLOW, 'plain', other, name)],
  renameAt: [(at, name, other) => at.renameAt(name, other, 'plain'), (at, name, other) => at.renameAt('plain', other, name)],
};

const refused = (code) => (error) => {
  assert.equal(error, code, error?.stack);
  return true;
};

/** A directory that records the requests that would reach the system. */
class Untouched {
  identity = { dev: 1n, ino: 1n };
  itself = '/nowhere';

  constructor() {
    for (const name of ['entry', 'verify', 'isGone', 'open', 'find', 'openExisting', 'stat', 'list', 'listBytes', 'sync']) {
      this[name] = () => {
        throw 'reached';
      };
    }
  }

  close() {}
}

const untouched = () => Descriptor.preopen(new OpenFiles(), new Untouched(), true);

describe('names', () => {
  const pieces = ['/', '..', '.', '\0', 'a', 'etc', '\\', ' ', '-', '\ufeff', '\u202e', 'é', '%2e', '\n', '\ud83d\ude00'];

  /** Generates strings of up to four pieces, the same ones in each run. */
  function* strings(count) {
    let state = 0x2545f491;
    const next = (below) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    yield* ['', '.', '..', '/', '//', './a', '../a', 'a/', 'a/..', '/a', 'a/b', 'a\0', '\0', '../../../etc/passwd', '/proc/self/root', 'a/./b'];
    for (let index = 0; index < count; index += 1) yield Array.from({ length: next(5) }, () => pieces[next(pieces.length)]).join('');
  }

  const isPlain = (name) => name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name);

  test('the table has every function', () => {
    const named = Object.getOwnPropertyNames(Descriptor.prototype).filter((name) => name.endsWith('At'));
    assert.deepEqual(Object.keys(FUNCTIONS).sort(), named.sort());
  });

  test('a text that is not a single name is refused before any request to the system', () => {
    const counts = { refused: 0, reached: 0 };
    for (const name of strings(2_000)) {
      for (const [called, ways] of Object.entries(FUNCTIONS)) {
        for (const [index, call] of ways.entries()) {
          const isItself = called === 'openAt' && name === '.' && index !== 1;
          const expected = isPlain(name) || isItself ? 'reached' : 'not-permitted';
          assert.throws(() => call(untouched(), name, untouched()), refused(expected), `${called} ${JSON.stringify(name)}`);
          counts[expected === 'reached' ? 'reached' : 'refused'] += 1;
        }
      }
    }
    assert.ok(counts.refused > 10_000 && counts.reached > 1_000, JSON.stringify(counts));
  });

  test('no link is followed, and no file is truncated before it is examined', () => {
    const follow = { symlinkFollow: true };
    for (const call of [
      (at) => at.openAt(follow, 'a', {}, READ),
      (at) => at.statAt(follow, 'a'),
      (at) => at.metadataHashAt(follow, 'a'),
      (at) => at.linkAt(follow, 'a', untouched(), 'b'),
      (at) => at.openAt(NO_FOLLOW, 'a', { truncate: true }, WRITE),
      (at) => at.openAt(NO_FOLLOW, 'a', { create: true }, WRITE),
      (at) => at.symlinkAt('/etc', 'a'),
      (at) => at.symlinkAt('a\0b', 'a'),
    ]) {
      assert.throws(() => call(untouched()), refused('not-permitted'), call.toString());
    }
  });

  test('a directory can be opened by `.`', () => {
    const here = fixture({ 'a.txt': 'one\n' });
    const { root, files } = provider(here.root);
    const again = root.openAt(NO_FOLLOW, '.', { directory: true }, READ);
    assert.equal(again.statAt(NO_FOLLOW, 'a.txt').size, 4n);
    files.closeAll();
  });
});

/** Creates directories that stay open until the tests have ended. */
function provider(path, { byPath = false, mutable = true } = {}) {
  const files = new OpenFiles();
  const directory = directoryAt(path, byPath);
  after(() => directory.close());
  return { files, root: Descriptor.preopen(files, directory, mutable) };
}

for (const byPath of HAS_PROC ? [false, true] : [true]) {
  describe(byPath ? 'modes, by paths' : 'modes', { skip: process.platform === 'win32' ? 'there are no modes here' : false }, () => {
    const modeOf = (path) => lstatSync(path).mode & 0o7777;
    /** Replaces a file by a rename of a temporary file, and returns the new state. */
    const replace = (root, name, temporary = '.paddock-0.tmp') => {
      root.openAt(NO_FOLLOW, temporary, NEW, WRITE).write(Buffer.from('new\n'), 0n);
      root.renameAt(temporary, root, name);
    };

    test('a hash of metadata ends with the mode of the entry itself, not of a link’s target', () => {
      const here = fixture({ 'a.txt': 'one\n', 'b.txt': 'one\n', 'dir/c.txt': '' });
      const { root } = provider(here.root, { byPath });
      symlinkSync('a.txt', here.at('link'));
      for (const [name, mode] of [['a.txt', 0o640], ['a.txt', 0o000], ['b.txt', 0o4755], ['dir', 0o1777], ['dir', 0o2750]]) {
        chmodSync(here.at(name), mode);
        const hash = root.metadataHashAt(NO_FOLLOW, name);
        assert.equal(hash.upper & 0o7777n, BigInt(mode), name);
        assert.ok(hash.upper >= 0n && hash.upper < 2n ** 64n && hash.lower >= 0n && hash.lower < 2n ** 64n);
        // For a file, only the hash by a name tells whether it changes with every change of the file, by this bit.
        const withoutStamp = { ...hash, upper: hash.upper & ~0o10000n };
        const expected = name === 'dir' ? hash : withoutStamp;
        if (mode !== 0 || IS_ROOT) assert.deepEqual(root.openAt(NO_FOLLOW, name, {}, READ).metadataHash(), expected);
        if (byPath) assert.deepEqual(hash, withoutStamp);
      }
      assert.equal(root.metadataHashAt(NO_FOLLOW, 'link').upper & 0o7777n, 0o777n);
      assert.deepEqual(root.metadataHash().upper & 0o7777n, BigInt(modeOf(here.root)));
      assert.throws(() => root.metadataHashAt(NO_FOLLOW, 'none'), refused('no-entry'));
      const [one, other] = ['a.txt', 'b.txt'].map((name) => root.metadataHashAt(NO_FOLLOW, name));
      assert.notEqual(one.lower, other.lower);
      chmodSync(here.at('a.txt'), 0o600);
      writeFileSync(here.at('a.txt'), 'another\n');
      assert.notEqual(root.metadataHashAt(NO_FOLLOW, 'a.txt').lower, one.lower);
    });

    test('a rename to a name with a mode sets the mode, and renames nothing', () => {
      const here = fixture({ 'a.txt': 'one\n', 'dir/c.txt': '' });
      const { root } = provider(here.root, { byPath });
      for (const [name, digits, mode] of [['a.txt', '0600', 0o600], ['a.txt', '0755', 0o755], ['dir', '0700', 0o700], ['dir', '1777', 0o1777], ['a.txt', '6755', 0o755], ['dir', '7777', 0o1777], ['a.txt', '0644', 0o644]]) {
        root.renameAt(name, root, `.paddock-mode-${digits}`);
        assert.equal(modeOf(here.at(name)), mode, `${name} ${digits}`);
      }
      assert.deepEqual(root.statAt(NO_FOLLOW, 'a.txt').size, 4n);
      assert.throws(() => root.statAt(NO_FOLLOW, '.paddock-mode-0644'), refused('no-entry'));
    });

    test('a file that may not be read gets its mode too', { skip: byPath && !IS_ROOT ? 'by paths, a file has to be opened to be read' : false }, () => {
      const here = fixture({ 'a.txt': 'one\n' });
      const { root } = provider(here.root, { byPath });
      for (const digits of ['0000', '0600']) root.renameAt('a.txt', root, `.paddock-mode-${digits}`);
      assert.equal(modeOf(here.at('a.txt')), 0o600);
    });

    test('other entries get no mode', () => {
      const here = fixture({ 'a.txt': 'one\n', 'shared.txt': 'old\n', 'dir/c.txt': '' });
      mkdirSync(join(here.top, 'outside'));
      writeFileSync(join(here.top, 'outside/secret.txt'), '', { mode: 0o600 });
      linkSync(here.at('shared.txt'), join(here.top, 'outside/shared.txt'));
      for (const [name, target] of [['link', 'a.txt'], ['out', '../outside/secret.txt'], ['to-dir', 'dir']]) symlinkSync(target, here.at(name));
      execFileSync('mkfifo', [here.at('fifo')]);
      const { root } = provider(here.root, { byPath });
      const before = ['a.txt', 'shared.txt', 'dir', 'fifo', '../outside/secret.txt'].map((name) => modeOf(here.at(name)));
      const set = (name, digits, from = root, to = root) => () => from.renameAt(name, to, `.paddock-mode-${digits}`);
      for (const name of ['link', 'out', 'to-dir', 'shared.txt', 'fifo']) assert.throws(set(name, '0777'), refused('not-permitted'), name);
      for (const digits of ['0778', '777', '00777', '', ' 777', '-777', '0x1f', '0777.tmp']) assert.throws(set('a.txt', digits), refused('invalid'), digits);
      assert.throws(set('none', '0777'), refused('no-entry'));
      const readOnly = provider(here.root, { byPath, mutable: false }).root;
      for (const [from, to] of [[readOnly, readOnly], [readOnly, root], [root, readOnly]]) {
        assert.throws(set('a.txt', '0777', from, to), refused('not-permitted'));
      }
      assert.deepEqual(['a.txt', 'shared.txt', 'dir', 'fifo', '../outside/secret.txt'].map((name) => modeOf(here.at(name))), before);
    });

    test('only the owner can access a private temporary file, whatever the umask', () => {
      const here = fixture();
      const { root, files } = provider(here.root, { byPath });
      const mask = process.umask();
      after(() => process.umask(mask));
      for (const [index, each] of [0o000, 0o022, 0o277, 0o777].entries()) {
        process.umask(each);
        root.openAt(NO_FOLLOW, `.paddock-${index}.private.tmp`, NEW, WRITE);
        process.umask(mask);
        assert.equal(modeOf(here.at(`.paddock-${index}.private.tmp`)), 0o600);
      }
      root.openAt(NO_FOLLOW, 'x.private.tmp', NEW, WRITE);
      root.openAt(NO_FOLLOW, '.paddock-0.tmp', NEW, WRITE);
      for (const name of ['x.private.tmp', '.paddock-0.tmp']) assert.equal(modeOf(here.at(name)), 0o666 & ~mask);
      files.closeAll();
    });

    test('no other user can read a private temporary file at any moment', (t) => {
      const here = fixture();
      const { root, files } = provider(here.root, { byPath });
      const opened = t.mock.method(fs, 'openSync');
      syncBuiltinESMExports();
      t.after(() => {
        opened.mock.restore();
        syncBuiltinESMExports();
      });
      root.openAt(NO_FOLLOW, '.paddock-0.private.tmp', NEW, WRITE);
      const [, , mode] = opened.mock.calls.find(({ arguments: [path] }) => path.endsWith('.private.tmp')).arguments;
      assert.equal(mode, 0o600);
      files.closeAll();
    });

    test('a replaced file keeps its mode and owner', () => {
      const here = fixture({ 'a.txt': 'old\n', 'b.txt': 'old\n' });
      const { root, files } = provider(here.root, { byPath });
      chmodSync(here.at('a.txt'), 0o4711);
      if (IS_ROOT) chownSync(here.at('b.txt'), 1234, 2345);
      replace(root, 'a.txt');
      replace(root, 'b.txt', '.paddock-1.private.tmp');
      files.closeAll();
      assert.equal(modeOf(here.at('a.txt')), 0o711);
      const { uid, gid, mode } = statSync(here.at('b.txt'));
      assert.deepEqual([readFileSync(here.at('b.txt'), 'utf8'), mode & 0o777], ['new\n', 0o666 & ~process.umask()]);
      if (IS_ROOT) assert.deepEqual([uid, gid], [1234, 2345]);
    });

    test('a hard link that the guest created does not count as a further name', { skip: IS_ROOT ? false : 'only root can give files away' }, () => {
      const here = fixture({ 'a.txt': 'old\n' });
      chownSync(here.at('a.txt'), 1234, 2345);
      const { root, files } = provider(here.root, { byPath });
      root.linkAt(NO_FOLLOW, 'a.txt', root, '.paddock-7.tmp');
      replace(root, 'a.txt');
      files.closeAll();
      const { uid, gid } = statSync(here.at('a.txt'));
      assert.deepEqual([uid, gid], [1234, 2345]);
    });

    test('two descriptors are of the same file, or of different ones', () => {
      const here = fixture({ 'a.txt': 'one\n', 'b.txt': 'one\n', 'dir/c.txt': '' });
      linkSync(here.at('a.txt'), here.at('second.txt'));
      const { root, files } = provider(here.root, { byPath });
      const open = (name) => root.openAt(NO_FOLLOW, name, name === 'dir' ? { directory: true } : {}, { read: true });
      const [a, second, b, dir, again] = ['a.txt', 'second.txt', 'b.txt', 'dir', 'dir'].map(open);
      assert.deepEqual([a.isSameObject(a), a.isSameObject(second), dir.isSameObject(again)], [true, true, true]);
      assert.deepEqual([a.isSameObject(b), dir.isSameObject(root), dir.isSameObject(a)], [false, false, false]);
      files.closeAll();
    });

    test('only the mode of a file with further names is carried over', { skip: IS_ROOT ? false : 'only root can give files away' }, () => {
      const here = fixture({ 'a.txt': 'old\n' });
      chownSync(here.at('a.txt'), 1234, 2345);
      chmodSync(here.at('a.txt'), 0o640);
      linkSync(here.at('a.txt'), join(here.top, 'second'));
      const { root, files } = provider(here.root, { byPath });
      replace(root, 'a.txt');
      files.closeAll();
      const { uid, gid } = statSync(here.at('a.txt'));
      assert.deepEqual([uid, gid, modeOf(here.at('a.txt'))], [process.getuid(), process.getgid(), 0o640]);
    });

    test('a temporary file that is not the guest’s own replaces nothing', () => {
      const here = fixture({ 'a.txt': 'old\n', '.paddock-1.tmp': 'theirs\n', '.paddock-2.private.tmp': 'theirs\n' });
      linkSync(here.at('.paddock-1.tmp'), join(here.top, 'second'));
      chmodSync(here.at('a.txt'), 0o666);
      chmodSync(here.at('.paddock-1.tmp'), 0o600);
      const { root } = provider(here.root, { byPath });
      assert.throws(() => root.renameAt('.paddock-1.tmp', root, 'a.txt'), refused('invalid'));
      if (IS_ROOT) {
        chownSync(here.at('.paddock-2.private.tmp'), 1234, 2345);
        assert.throws(() => root.renameAt('.paddock-2.private.tmp', root, 'a.txt'), refused('invalid'));
      }
      assert.equal(readFileSync(here.at('a.txt'), 'utf8'), 'old\n');
      assert.equal(modeOf(join(here.top, 'second')), 0o600);
    });
  });
}
