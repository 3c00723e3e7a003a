/**
 * What no tool reaches or moves, whatever it is called: Paddock's own directories, roots and what holds them, and file
 * systems of the kernel. The provider is asked directly, as by a guest that was taken over; and whole workspaces.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Directories } from '../src/disk/directories.js';
import { directoryOf } from '../src/disk/held.js';
import { Workspace } from '../src/index.js';
import { AccessControl } from '../src/wasi/access_control.js';
import { HAS_PROC } from '../src/wasi/directory.js';
import { Descriptor, OpenFiles } from '../src/wasi/filesystem.js';

const NO_FOLLOW = {};
const READ = { read: true };
const WRITE = { read: true, write: true };
const NEW = { create: true, exclusive: true };

const top = realpathSync(mkdtempSync(join(tmpdir(), 'paddock-own-')));
const mounted = [];
after(() => {
  for (const path of mounted.reverse()) execFileSync('umount', ['--lazy', path]);
  rmSync(top, { recursive: true });
});

/** Why nothing can be mounted here, if so. */
const cannotMount = (() => {
  if (!HAS_PROC) return 'bind mounts are Linux’s';
  const [one, other] = ['can', 'mount'].map((name) => join(top, name));
  [one, other].forEach((path) => mkdirSync(path));
  try {
    mount(['--bind', one, other]);
    return false;
  } catch (error) {
    return `nothing can be mounted here: ${error.stderr}`;
  }
})();

function mount(args) {
  execFileSync('mount', args, { stdio: 'pipe' });
  mounted.push(args.at(-1));
}

/** What the variables were that say where Paddock's own directories are. */
const variables = Object.fromEntries(['HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'PADDOCK_STATE_DIR', 'PADDOCK_CACHE_DIR'].map((name) => [name, process.env[name]]));
function environment(wanted) {
  for (const name of Object.keys(variables)) delete process.env[name];
  Object.assign(process.env, wanted);
}
after(() => {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

let homes = 0;

/** A home directory with these files, which the environment names. */
function home(files = {}) {
  const path = join(top, `home-${(homes += 1)}`);
  mkdirSync(path);
  write(path, files);
  environment({ HOME: path });
  return path;
}

function write(above, files) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(above, name)), { recursive: true });
    writeFileSync(join(above, name), text);
  }
}

/** The provider's own answers in a workspace's directories: the first root, or that of an index. */
function provider(options) {
  const directories = new Directories({ roots: [], policy: {}, ...options });
  after(() => directories.close());
  const files = new OpenFiles(new AccessControl(directories.guarded));
  after(() => files.closeAll());
  const roots = directories.mounts.map(({ held, access }) => Descriptor.preopen(files, directoryOf(held), access === 'read-write'));
  return { directories, files, root: roots[0], roots };
}

/** The directory at these names. */
const at = (root, ...names) => names.reduce((directory, name) => directory.openAt(NO_FOLLOW, name, { directory: true }, READ), root);

const refused = (code) => (error) => {
  assert.equal(error, code, error?.stack);
  return true;
};
const isRefused = (act, about) => assert.throws(act, refused('not-permitted'), about);

const OWN = {
  '.cache/paddock/paddock-0.cwasm': 'native code',
  '.config/paddock/policy.yaml': 'read_only: true\n',
  '.local/state/paddock/0123456789abcdef/journal': 'x',
  '.cache/other/x': 'x',
  'evil/paddock/paddock-0.cwasm': 'evil',
  'notes.txt': 'notes\n',
};

/** Paddock's own directories and what holds them, with what a guest makes to be put in their places. */
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
    test('is closed in a root that holds it', () => {
      checkClosed(provider({ directory: home(OWN), byPath }).root);
    });

    test('is closed by whatever path the root was opened', { skip: cannotMount }, () => {
      const directory = join(top, `bound-${byPath}`);
      mkdirSync(directory);
      mount(['--bind', home(OWN), directory]);
      checkClosed(provider({ directory, byPath }).root);
    });

    test('cannot be made by a tool, and is closed once another process made it', () => {
      const directory = home({ 'evil/paddock/paddock-0.cwasm': 'evil', 'file.txt': 'x' });
      const { root } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      isRefused(() => root.renameAt('evil', root, '.cache'));
      isRefused(() => root.symlinkAt('evil', '.cache'));
      isRefused(() => root.renameAt('file.txt', root, '.cache'));
      isRefused(() => root.linkAt(NO_FOLLOW, 'file.txt', root, '.cache'));
      isRefused(() => root.openAt(NO_FOLLOW, '.cache', NEW, WRITE));
      isRefused(() => root.renameAt('evil', root, '.Cache'));
      // A directory for the caches of other programs can be made, and is then what holds Paddock's.
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

    test('is closed where a tool removes and makes anew what would hold it', () => {
      const directory = home({ 'evil/paddock/x': 'evil' });
      const { root } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      root.createDirectoryAt('.config');
      const { root: other } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      for (const each of [root, other]) isRefused(() => each.removeDirectoryAt('.config'));
      // The directory is known by what it is, too.
      const config = at(root, '.config');
      renameSync(join(directory, '.config'), join(directory, 'renamed'));
      isRefused(() => at(root, 'renamed').createDirectoryAt('paddock'));
      // By paths, it is not where it was.
      assert.throws(() => config.createDirectoryAt('paddock'), refused(byPath ? 'no-entry' : 'not-permitted'));
      isRefused(() => root.renameAt('renamed', root, 'again'));
    });

    test('is closed by whatever name another process gives it', async () => {
      const directory = home(OWN);
      const { root } = provider({ directory, byPath });
      renameSync(join(directory, '.cache/paddock'), join(directory, 'renamed'));
      isRefused(() => at(root, 'renamed'));
      isRefused(() => root.renameAt('renamed', root, 'again'));
      // One that is made later is known from then on.
      const workspace = await Workspace.open(directory, { byPath, stateDir: join(directory, 'own-state') });
      after(() => workspace.close());
      await workspace.write({ path: 'notes.txt', content: 'secret\n' });
      renameSync(join(directory, 'own-state'), join(directory, 'elsewhere'));
      for (const [tool, args] of [['list_dir', { path: 'elsewhere' }], ['grep', { pattern: 'secret', path: 'elsewhere' }], ['move', { source: 'elsewhere', destination: 'x' }]]) {
        const { ok, text } = await workspace.call(tool, args);
        assert.ok(!ok, `${tool}: ${text}`);
      }
    });

    test('where the environment says it is, and where it is without that', () => {
      const directory = home({ ...OWN, 'x/c/paddock-0.cwasm': 'native code', 'x/cache/paddock/y': '', 'x/config/paddock/y': '', 'x/s/y': '', 'x/state/paddock/y': '' });
      environment({ HOME: directory, PADDOCK_CACHE_DIR: join(directory, 'x/c'), XDG_CACHE_HOME: join(directory, 'x/cache'), XDG_CONFIG_HOME: join(directory, 'x/config'), PADDOCK_STATE_DIR: join(directory, 'x/s'), XDG_STATE_HOME: join(directory, 'x/state') });
      const { root } = provider({ directory, byPath });
      checkClosed(root);
      const x = at(root, 'x');
      for (const name of ['c', 's']) isRefused(() => at(x, name), name);
      for (const name of ['cache', 'config', 'state']) isRefused(() => at(x, name, 'paddock'), name);
      isRefused(() => root.renameAt('x', root, 'y'));
    });

    test('through a link: it stays, and what it leads to is closed', () => {
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

    test('a file where a directory would be cannot be taken away', () => {
      const directory = home({ '.cache': 'a file', 'evil/paddock/x': 'evil' });
      const { root } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      isRefused(() => root.unlinkFileAt('.cache'));
      isRefused(() => root.renameAt('evil', root, '.cache'));
    });

    test('a link that cannot be followed stays where it is', () => {
      const directory = home({ 'evil/paddock/x': 'evil' });
      symlinkSync('.cache', join(directory, '.cache'));
      const { root } = provider({ directory, byPath, stateDir: join(top, `state-${byPath}`) });
      isRefused(() => root.unlinkFileAt('.cache'));
      isRefused(() => root.renameAt('evil', root, '.cache'));
    });

    test('no root is in it', async () => {
      const directory = home(OWN);
      for (const name of ['.cache/paddock', '.config/paddock', '.local/state/paddock', '.local/state/paddock/0123456789abcdef']) {
        await assert.rejects(Workspace.open(join(directory, name), { byPath }), { code: 'denied', message: /belongs to the program that runs the tools/ });
        await assert.rejects(Workspace.open(join(directory, 'evil'), { byPath, roots: [{ path: join(directory, name) }] }), { code: 'denied' });
      }
      await assert.rejects(Workspace.open(join(directory, 'evil/paddock'), { byPath, stateDir: join(directory, 'evil') }), { code: 'denied' });
    });

    test('whole calls: nothing of it is read, changed or made', async () => {
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
        // The backup of that is in there.
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

    test('stay where they are, and so does what holds them', () => {
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

    test('an inner root that may not be changed may not be by the outer one', () => {
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

  describe(byPath ? 'settings that name a directory, by paths' : 'settings that name a directory', () => {
    let directory;
    let opened;

    before(() => {
      directory = home({ 'ws/in/x': '', 'outside/secret.txt': 'SECRET\n' });
      symlinkSync('../outside', join(directory, 'ws/out'));
      symlinkSync('in', join(directory, 'ws/inside'));
      symlinkSync('ws/out', join(directory, 'twice'));
      symlinkSync('around', join(directory, 'around'));
      opened = (options) => Workspace.open(join(directory, 'ws'), { byPath, stateDir: join(directory, 'state'), ...options });
    });

    /** The same check for each of them. */
    const settings = {
      roots: (path) => ({ roots: [{ path, guest: '/further' }] }),
      allowed_directories: (path) => ({ policy: { allowed_directories: [path] } }),
      stateDir: (path) => ({ stateDir: path }),
    };
    for (const [name, setting] of Object.entries(settings)) {
      test(`\`${name}\` through a link that leads out of a root is refused`, async () => {
        for (const path of ['ws/out', 'twice', 'ws/in/../out', 'ws/out/../outside']) {
          await assert.rejects(opened(setting(`${directory}/${path}`)), { code: 'outside-workspace', message: /leads out of it.*\n.*name `.*outside`/s }, path);
        }
        assert.deepEqual(readdirSync(join(directory, 'outside')), ['secret.txt']);
        await assert.rejects(opened(setting(join(directory, 'around'))), { name: 'PaddockError', message: /too many symbolic links/ });
        const inside = await opened(setting(join(directory, 'ws/inside')));
        inside.close();
      });

      test(`\`${name}\` in a file system of the kernel is refused`, { skip: HAS_PROC ? false : 'it is Linux’s' }, async () => {
        for (const path of ['/proc/self/task', '/proc', '/sys', '/sys/kernel']) {
          await assert.rejects(opened(setting(path)), { code: 'denied', message: /file system of the kernel/ }, path);
        }
      });

      test(`\`${name}\` that is not a directory is refused`, async () => {
        await assert.rejects(opened(setting(join(directory, 'outside/secret.txt'))), { code: 'not-a-directory' });
        if (name !== 'stateDir') await assert.rejects(opened(setting(join(directory, 'none'))), { code: 'not-found' });
      });
    }

    test('a link in a root is known by the directory that holds it', { skip: cannotMount }, async () => {
      const bound = join(top, `again-${byPath}`);
      mkdirSync(bound);
      mount(['--bind', join(directory, 'ws'), bound]);
      for (const setting of Object.values(settings)) {
        await assert.rejects(Workspace.open(bound, { byPath, stateDir: join(directory, 'state'), ...setting(join(directory, 'ws/out')) }), { code: 'outside-workspace' });
      }
    });

    test('a path is followed as the system does', async () => {
      symlinkSync('outside', join(directory, 'elsewhere'));
      write(directory, { 'outside/../sibling/x': 'sibling\n' });
      const workspace = await opened({ roots: [{ path: `${directory}/elsewhere/../sibling`, guest: '/s' }] });
      after(() => workspace.close());
      assert.equal((await workspace.read({ path: '/s/x' })).content, 'sibling');
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

  test('wherever they are mounted', { skip: cannotMount }, () => {
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
