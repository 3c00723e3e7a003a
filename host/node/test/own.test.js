/**
 * Files that no tool may reach or move, by any name: Paddock's own directories, roots, the directories above them, and
 * file systems of the kernel. The tests call the provider directly, as a compromised guest could, and through whole
 * workspaces.
 */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Workspace } from '../src/index.js';
import { HAS_PROC } from '../src/wasi/directory.js';
import { NEW, NO_FOLLOW, READ, WRITE, at, cannotMount, environment, home, isRefused, mount, provider, refused, top, write } from './homes.js';

const OWN = {
  '.cache/paddock/paddock-0.cwasm': 'native code',
  '.config/paddock/policy.yaml': 'read_only: true\n',
  '.local/state/paddock/0123456789abcdef/journal': 'x',
  '.cache/other/x': 'x',
  'evil/paddock/paddock-0.cwasm': 'evil',
  'notes.txt': 'notes\n',
};

/**
 * Checks that Paddock's own directories and their parents are closed, and that a guest cannot put other entries in
 * their places.
 */
function checkClosed(root) {
  const evil = at(root, 'evil');
  for (const [holder, name] of [[['.cache'], 'paddock'], [['.config'], 'paddock'], [['.local', 'state'], 'paddock']]) {
    const above = at(root, ...holder);
    const about = `${holder.join('/')}/${name}`;
    isRefused(() => above.openAt(NO_FOLLOW, name, { directory: true }, READ), about);
    isRefused(() => above.openAt(NO_FOLLOW, name, {}, READ), about);
    isRefused(() => above.openAt(NO_FOLLOW, name.toUpperCase(), NEW, WRITE), about);
    isRefused(() => above.renameAt(name, root, 'stolen'), about);
    isRefused(() => evil.renameAt('paddock', above, name), about);
    isRefused(() => above.removeDirectoryAt(name), about);
    isRefused(() => above.renameAt(name, above, '.paddock-mode-0777'), about);
    isRefused(() => above.linkAt(NO_FOLLOW, name, root, 'linked'), about);
  }
  for (const [holder, name] of [[[], '.cache'], [[], '.config'], [[], '.local'], [['.local'], 'state']]) {
    const above = at(root, ...holder);
    isRefused(() => above.renameAt(name, root, 'stolen'), name);
    isRefused(() => root.renameAt('evil', above, name), name);
    isRefused(() => above.removeDirectoryAt(name), name);
  }
  assert.equal(at(root, '.cache', 'other').statAt(NO_FOLLOW, 'x').size, 1n);
  root.renameAt('notes.txt', root, 'moved.txt');
  root.renameAt('moved.txt', root, 'notes.txt');
}

for (const byPath of HAS_PROC ? [false, true] : [true]) {
  describe(byPath ? 'what is Paddock’s own, by paths' : 'what is Paddock’s own', () => {
    test('is closed in a root that contains it', () => {
      checkClosed(provider({ directory: home(OWN), byPath }).root);
    });

    test('is closed by every path of the root', { skip: cannotMount }, () => {
      const directory = join(top, `bound-${byPath}`);
      mkdirSync(directory);
      mount(['--bind', home(OWN), directory]);
      checkClosed(provider({ directory, byPath }).root);
    });

    test('cannot be created by a tool, and is closed once another process has created it', () => {
      const directory = home({ 'evil/paddock/paddock-0.cwasm': 'evil', 'file.txt': 'x' });
      const { root } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      isRefused(() => root.renameAt('evil', root, '.cache'));
      isRefused(() => root.symlinkAt('evil', '.cache'));
      isRefused(() => root.renameAt('file.txt', root, '.cache'));
      isRefused(() => root.linkAt(NO_FOLLOW, 'file.txt', root, '.cache'));
      isRefused(() => root.openAt(NO_FOLLOW, '.cache', NEW, WRITE));
      isRefused(() => root.renameAt('evil', root, '.Cache'));
      // A directory for the caches of other programs can be created. From then on it is the parent of Paddock's cache,
      // and cannot be moved.
      root.createDirectoryAt('.cache');
      const cache = at(root, '.cache');
      cache.createDirectoryAt('other');
      isRefused(() => cache.createDirectoryAt('paddock'));
      isRefused(() => cache.symlinkAt('../evil/paddock', 'paddock'));
      isRefused(() => cache.openAt(NO_FOLLOW, 'paddock', NEW, WRITE));
      isRefused(() => at(root, 'evil').renameAt('paddock', cache, 'paddock'));
      isRefused(() => root.renameAt('.cache', root, 'stolen'));
      isRefused(() => root.removeDirectoryAt('.cache'));
      write(directory, { '.cache/paddock/paddock-0.cwasm': 'native code' });
      isRefused(() => cache.openAt(NO_FOLLOW, 'paddock', { directory: true }, READ));
      isRefused(() => cache.renameAt('paddock', root, 'stolen'));
    });

    test('is closed if a tool removes its parent and creates it again', () => {
      const directory = home({ 'evil/paddock/x': 'evil' });
      const { root } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      root.createDirectoryAt('.config');
      const { root: other } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      for (const each of [root, other]) isRefused(() => each.removeDirectoryAt('.config'));
      // The directory is recognized by its identity, too.
      const config = at(root, '.config');
      renameSync(join(directory, '.config'), join(directory, 'renamed'));
      isRefused(() => at(root, 'renamed').createDirectoryAt('paddock'));
      // Without descriptors, the host finds that the directory is no longer at its path.
      assert.throws(() => config.createDirectoryAt('paddock'), refused(byPath ? 'no-entry' : 'not-permitted'));
      isRefused(() => root.renameAt('renamed', root, 'again'));
    });

    test('is closed by every name that another process gives it', async () => {
      const directory = home(OWN);
      const { root } = provider({ directory, byPath });
      renameSync(join(directory, '.cache/paddock'), join(directory, 'renamed'));
      isRefused(() => at(root, 'renamed'));
      isRefused(() => root.renameAt('renamed', root, 'again'));
      // A state directory that is created later is closed from then on.
      const workspace = await Workspace.open(directory, { byPath, stateDir: join(directory, 'own-state') });
      after(() => workspace.close());
      await workspace.write({ path: 'notes.txt', content: 'secret\n' });
      renameSync(join(directory, 'own-state'), join(directory, 'elsewhere'));
      for (const [tool, args] of [['list_dir', { path: 'elsewhere' }], ['grep', { pattern: 'secret', path: 'elsewhere' }], ['move', { source: 'elsewhere', destination: 'x' }]]) {
        const { ok, text } = await workspace.call(tool, args);
        assert.ok(!ok, `${tool}: ${text}`);
      }
    });

    test('is closed at the paths of the environment and at the default paths', () => {
      const directory = home({ ...OWN, 'x/c/paddock-0.cwasm': 'native code', 'x/cache/paddock/y': '', 'x/config/paddock/y': '', 'x/s/y': '', 'x/state/paddock/y': '' });
      environment({ HOME: directory, PADDOCK_CACHE_DIR: join(directory, 'x/c'), XDG_CACHE_HOME: join(directory, 'x/cache'), XDG_CONFIG_HOME: join(directory, 'x/config'), PADDOCK_STATE_DIR: join(directory, 'x/s'), XDG_STATE_HOME: join(directory, 'x/state') });
      const { root } = provider({ directory, byPath });
      checkClosed(root);
      const x = at(root, 'x');
      for (const name of ['c', 's']) isRefused(() => at(x, name), name);
      for (const name of ['cache', 'config', 'state']) isRefused(() => at(x, name, 'paddock'), name);
      isRefused(() => root.renameAt('x', root, 'y'));
    });

    test('through a link: the link stays, and its target is closed', () => {
      const directory = home({ 'real/paddock/paddock-0.cwasm': 'native code', 'evil/paddock/x': 'evil' });
      symlinkSync('real', join(directory, '.cache'));
      const { root } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      isRefused(() => root.unlinkFileAt('.cache'));
      isRefused(() => root.renameAt('.cache', root, 'stolen'));
      isRefused(() => root.renameAt('evil', root, '.cache'));
      isRefused(() => root.linkAt(NO_FOLLOW, '.cache', root, 'second'));
      isRefused(() => at(root, 'real', 'paddock'));
      isRefused(() => root.renameAt('real', root, 'stolen'));
      assert.equal(root.readlinkAt('.cache'), 'real');
    });

    test('a file at the path of a directory cannot be removed', () => {
      const directory = home({ '.cache': 'a file', 'evil/paddock/x': 'evil' });
      const { root } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      isRefused(() => root.unlinkFileAt('.cache'));
      isRefused(() => root.renameAt('evil', root, '.cache'));
    });

    test('a link that cannot be followed cannot be removed', () => {
      const directory = home({ 'evil/paddock/x': 'evil' });
      symlinkSync('.cache', join(directory, '.cache'));
      const { root } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      isRefused(() => root.unlinkFileAt('.cache'));
      isRefused(() => root.renameAt('evil', root, '.cache'));
    });

    test('a root in it is refused', async () => {
      const directory = home(OWN);
      for (const name of ['.cache/paddock', '.config/paddock', '.local/state/paddock', '.local/state/paddock/0123456789abcdef']) {
        await assert.rejects(Workspace.open(join(directory, name), { byPath }), { code: 'denied', message: /belongs to the program that runs the tools/ });
        await assert.rejects(Workspace.open(join(directory, 'evil'), { byPath, roots: [{ path: join(directory, name) }] }), { code: 'denied' });
      }
      await assert.rejects(Workspace.open(join(directory, 'evil/paddock'), { byPath, stateDir: join(directory, 'evil') }), { code: 'denied' });
    });

    test('whole calls neither read nor change it, nor create entries in it', async () => {
      for (const [existing, files] of [[true, OWN], [false, { 'evil/paddock/paddock-0.cwasm': 'evil', 'notes.txt': 'x' }]]) {
        const directory = home(files);
        const workspace = await Workspace.open(directory, { byPath, policy: { allow_protected: true } });
        after(() => workspace.close());
        for (const [tool, args] of [
          ['read_file', { path: '.cache/paddock/paddock-0.cwasm', mode: 'base64' }],
          ['write_file', { path: '.cache/paddock/paddock-0.cwasm', content: 'evil' }],
          ['write_file', { path: '.cache/paddock/new.cwasm', content: 'evil' }],
          ['write_file', { path: '.config/paddock/policy.yaml', content: 'mode: unrestricted\n' }],
          ['write_file', { path: '.local/state/paddock/x/journal', content: 'evil' }],
          ['move', { source: 'evil', destination: '.cache', overwrite: true }],
          ['move', { source: 'evil/paddock', destination: '.cache/paddock', overwrite: true }],
          ['copy', { source: 'evil', destination: '.cache', recursive: true }],
          ['copy', { source: 'evil/paddock/paddock-0.cwasm', destination: '.cache/paddock/paddock-0.cwasm', overwrite: true }],
          ['delete', { path: '.cache/paddock', recursive: true }],
          ['delete', { path: '.local', recursive: true }],
        ]) {
          const { ok, text } = await workspace.call(tool, args);
          assert.ok(!ok, `${tool} ${JSON.stringify(args)}: ${text}`);
        }
        assert.equal(existsSync(join(directory, '.cache/paddock')), existing);
        if (existing) for (const name of ['.cache/paddock/paddock-0.cwasm', '.config/paddock/policy.yaml']) assert.equal(readFileSync(join(directory, name), 'utf8'), OWN[name]);
        assert.ok((await workspace.call('write_file', { path: 'notes.txt', content: 'y' })).ok);
        // The state directory contains the backup of that change.
        assert.ok(existsSync(join(directory, '.local/state/paddock')));
        assert.ok((await workspace.call('write_file', { path: '.cache/other/y', content: 'y' })).ok);
      }
    });
  });

  describe(byPath ? 'roots in roots, by paths' : 'roots in roots', () => {
    const nested = (options = {}) => {
      const directory = home({ 'ws/sub/deep/inner/file.txt': 'inside\n', 'ws/sub/other.txt': 'x', 'ws/empty/x': '' });
      rmSync(join(directory, 'ws/empty/x'));
      return { roots: [{ path: join(directory, 'ws/sub/deep/inner'), ...options }], directory: join(directory, 'ws'), stateDir: join(directory, 'state'), byPath };
    };

    test('cannot be moved, and neither can their parents', () => {
      const { root, roots } = provider(nested());
      const [sub, deep] = [at(root, 'sub'), at(root, 'sub', 'deep')];
      for (const [above, name] of [[root, 'sub'], [sub, 'deep'], [deep, 'inner']]) {
        isRefused(() => above.renameAt(name, root, 'moved'), name);
        isRefused(() => root.renameAt('empty', above, name), name);
        isRefused(() => above.removeDirectoryAt(name), name);
        isRefused(() => above.renameAt(name, above, '.paddock-mode-0700'), name);
      }
      at(deep, 'inner').unlinkFileAt('file.txt');
      assert.throws(() => roots[1].statAt(NO_FOLLOW, 'file.txt'), refused('no-entry'));
      sub.renameAt('other.txt', root, 'other.txt');
      root.renameAt('empty', sub, 'empty');
    });

    test('a read-only inner root cannot be changed through the outer root', () => {
      const { root } = provider(nested({ access: 'read-only' }));
      const inner = at(root, 'sub', 'deep', 'inner');
      isRefused(() => inner.unlinkFileAt('file.txt'));
      isRefused(() => inner.openAt(NO_FOLLOW, 'file.txt', {}, WRITE));
      isRefused(() => inner.renameAt('file.txt', root, 'stolen'));
      isRefused(() => root.renameAt('empty', inner, 'x'));
      assert.equal(inner.openAt(NO_FOLLOW, 'file.txt', {}, READ).stat().size, 7n);
      at(root, 'sub').unlinkFileAt('other.txt');
    });

    test('by tools', async () => {
      const { directory, roots, ...options } = nested();
      const workspace = await Workspace.open(directory, { roots, ...options });
      after(() => workspace.close());
      for (const [tool, args] of [
        ['move', { source: 'sub/deep/inner', destination: 'x' }],
        ['move', { source: 'sub/deep', destination: 'x' }],
        ['move', { source: 'sub', destination: 'x' }],
        ['move', { source: '/inner', destination: 'x' }],
        ['move', { source: 'empty', destination: 'sub', overwrite: true }],
        ['move', { source: 'empty', destination: 'sub/deep/inner', overwrite: true }],
        ['delete', { path: 'sub/deep/inner', recursive: true }],
        ['delete', { path: 'sub/deep', recursive: true }],
        ['delete', { path: 'sub', recursive: true }],
        ['delete', { path: '/inner', recursive: true }],
      ]) {
        const { ok, text } = await workspace.call(tool, args);
        assert.ok(!ok, `${tool} ${JSON.stringify(args)}: ${text}`);
        assert.ok(existsSync(join(directory, 'sub/deep/inner')), tool);
      }
      assert.ok((await workspace.call('write_file', { path: 'sub/deep/inner/file.txt', content: 'new\n' })).ok);
      assert.equal((await workspace.read({ path: '/inner/file.txt' })).content, 'new');
      assert.ok((await workspace.call('move', { source: 'empty', destination: 'sub/empty' })).ok);
    });
  });
}

describe('file systems of the kernel', { skip: HAS_PROC ? false : 'they are Linux’s' }, () => {
  test('are closed in a root', () => {
    environment({ HOME: top });
    const { root } = provider({ directory: '/', stateDir: false });
    for (const name of ['proc', 'sys']) isRefused(() => at(root, name), name);
    isRefused(() => root.openAt(NO_FOLLOW, 'proc', {}, READ));
    assert.ok(at(root, 'dev'), 'devices are no file system of the kernel');
  });

  test('are closed wherever they are mounted', { skip: cannotMount }, () => {
    const directory = home({ 'ws/p/x': '', 'ws/file': '', 'ws/t/x': '' });
    mount(['-t', 'proc', 'proc', join(directory, 'ws/p')]);
    mount(['--bind', '/proc/version', join(directory, 'ws/file')]);
    mount(['-t', 'tmpfs', 'tmpfs', join(directory, 'ws/t')]);
    for (const byPath of [false, true]) {
      const { root } = provider({ directory: join(directory, 'ws'), stateDir: false, byPath });
      isRefused(() => at(root, 'p'));
      isRefused(() => root.openAt(NO_FOLLOW, 'file', {}, READ));
      isRefused(() => root.openAt(NO_FOLLOW, 'file', {}, WRITE));
      at(root, 't').openAt(NO_FOLLOW, `new-${byPath}`, NEW, WRITE);
    }
  });
});
