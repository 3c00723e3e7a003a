/** Settings that name a directory: each is checked in the same way. */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Workspace } from '../src/index.js';
import { HAS_PROC } from '../src/wasi/directory.js';
import { cannotMount, home, mount, top, write } from './homes.js';

for (const byPath of HAS_PROC ? [false, true] : [true]) {
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

    test('a link in a root is recognized by the directory that contains it', { skip: cannotMount }, async () => {
      const bound = join(top, `again-${byPath}`);
      mkdirSync(bound);
      mount(['--bind', join(directory, 'ws'), bound]);
      for (const setting of Object.values(settings)) {
        await assert.rejects(Workspace.open(bound, { byPath, stateDir: join(directory, 'state'), ...setting(join(directory, 'ws/out')) }), { code: 'outside-workspace' });
      }
    });

    test('a path is resolved as the system resolves it', async () => {
      symlinkSync('outside', join(directory, 'elsewhere'));
      write(directory, { 'outside/../sibling/x': 'sibling\n' });
      const workspace = await opened({ roots: [{ path: `${directory}/elsewhere/../sibling`, guest: '/s' }] });
      after(() => workspace.close());
      assert.equal((await workspace.read({ path: '/s/x' })).content, 'sibling');
    });
  });
}
