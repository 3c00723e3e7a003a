/**
 * Roots, the state directory and the directories above them are renamed, replaced, deleted and replaced by links
 * between calls. A call works in the directory that the workspace was opened on, or reports that it is gone.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Workspace } from '../src/index.js';
import { HAS_PROC } from '../src/wasi/directory.js';

const CANARY = 'CANARY-of-outside';

/** The root and each directory above it, each with the rest of the root's path. */
const HOLDERS = [['work/a/b', ''], ['work/a', 'b'], ['work', 'a/b']];

/**
 * Directories of a test: the root `top/work/a/b`, the state directory `top/state/ws`, and `top/outside`, which no call
 * may reach. Below `top/outside`, each path of the root and of the state directory has a canary file.
 */
class Setting {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'paddock-held-')));

  static async open(options) {
    const setting = new Setting();
    setting.workspace = await Workspace.open(setting.at('work/a/b'), { stateDir: setting.at('state/ws'), ...options });
    return setting;
  }

  constructor() {
    mkdirSync(this.at('work/a/b'), { recursive: true });
    writeFileSync(this.at('work/a/b/file.txt'), 'inside\n');
    for (const holder of ['', 'b', 'a/b', 'work/a/b', 'ws']) {
      mkdirSync(this.at('outside', holder), { recursive: true });
      writeFileSync(this.at('outside', holder, 'file.txt'), CANARY);
    }
    after(() => {
      this.workspace?.close();
      rmSync(this.top, { recursive: true, force: true });
    });
  }

  at(...names) {
    return join(this.top, ...names);
  }

  /**
   * Reads, writes, changes and searches. No call may reach the directory outside, which may have been moved to
   * `outside`.
   */
  async work(outside = this.at('outside')) {
    const before = tree(outside);
    const edits = [{ old_text: 'inside', new_text: 'INSIDE' }];
    const outcomes = [];
    for (const [tool, args] of [
      ['read_file', { path: 'file.txt' }],
      ['grep', { pattern: 'CANARY|inside' }],
      ['list_dir', {}],
      ['edit_file', { path: 'file.txt', edits }],
      ['write_file', { path: 'new/file.txt', content: 'written\n' }],
      ['restore', { path: 'file.txt' }],
      ['delete', { path: 'new', recursive: true }],
    ]) {
      const outcome = await this.workspace.call(tool, args);
      const text = JSON.stringify(outcome);
      assert.ok(!text.includes(CANARY), `${tool}: ${text}`);
      outcomes.push(outcome);
    }
    assert.deepEqual(tree(outside), before, 'what is outside was changed');
    return outcomes;
  }

  async worksIn(root, outside) {
    for (const { ok, text } of await this.work(outside)) assert.ok(ok, text);
    assert.equal(readFileSync(join(root, 'file.txt'), 'utf8'), 'inside\n');
  }

  async isGone(outside) {
    for (const { error } of await this.work(outside)) {
      assert.equal(error?.code, 'backend-gone', JSON.stringify(error));
      assert.match(error.hint, /open the workspace again/);
    }
  }

  /**
   * Checks that calls work in the directory at its present path `root`. By paths, this host cannot follow it, and calls
   * must fail.
   */
  async staysIn(root, byPath, outside) {
    if (byPath) await this.isGone(outside);
    else await this.worksIn(root, outside);
  }
}

/** Returns modes, modification times and contents of an entry and all entries below it. */
function tree(path) {
  const stat = lstatSync(path, { bigint: true });
  const below = stat.isDirectory() ? readdirSync(path).map((name) => tree(join(path, name))) : [];
  return Object.assign({ [path]: [stat.mode, stat.mtimeNs, stat.isFile() && readFileSync(path, 'latin1')] }, ...below);
}

for (const thread of [true, false]) {
  for (const byPath of HAS_PROC ? [false, true] : [true]) {
    const options = { thread, byPath };
    describe(`held, ${thread ? 'in threads' : 'here'}${byPath ? ', by paths' : ''}`, () => suite(options, byPath));
  }
}

function suite(options, byPath) {
  for (const [holder, below] of HOLDERS) {
    test(`\`${holder}\` is renamed`, async () => {
      const setting = await Setting.open(options);
      await setting.worksIn(setting.at('work/a/b'));
      renameSync(setting.at(holder), setting.at('moved'));
      await setting.staysIn(setting.at('moved', below), byPath);
    });

    test(`a link takes the place of \`${holder}\``, async () => {
      const setting = await Setting.open(options);
      await setting.worksIn(setting.at('work/a/b'));
      renameSync(setting.at(holder), setting.at('moved'));
      symlinkSync(setting.at('outside'), setting.at(holder));
      await setting.staysIn(setting.at('moved', below), byPath);
    });

    test(`another directory takes the place of \`${holder}\``, async () => {
      const setting = await Setting.open(options);
      await setting.worksIn(setting.at('work/a/b'));
      renameSync(setting.at(holder), setting.at('moved'));
      renameSync(setting.at('outside', below === '' ? '' : holder === 'work' ? 'work' : 'a'), setting.at(holder));
      assert.equal(readFileSync(setting.at('work/a/b/file.txt'), 'utf8'), CANARY);
      await setting.staysIn(setting.at('moved', below), byPath, setting.at(holder));
    });

    test(`\`${holder}\` is deleted`, async () => {
      const setting = await Setting.open(options);
      await setting.worksIn(setting.at('work/a/b'));
      rmSync(setting.at(holder), { recursive: true });
      await setting.isGone();
      symlinkSync(setting.at('outside'), setting.at(holder));
      await setting.isGone();
      rmSync(setting.at(holder));
      mkdirSync(setting.at('work/a/b'), { recursive: true });
      await setting.isGone();
      assert.deepEqual(readdirSync(setting.at('work/a/b')), []);
    });
  }

  test('a directory that contains a link replaces the parent of the root', async () => {
    const setting = await Setting.open(options);
    renameSync(setting.at('work/a'), setting.at('work/old'));
    mkdirSync(setting.at('work/a'));
    symlinkSync(setting.at('outside/b'), setting.at('work/a/b'));
    await setting.staysIn(setting.at('work/old/b'), byPath);
  });

  test('tools of another workspace move the parent of the root', async () => {
    const setting = await Setting.open(options);
    const agent = await Workspace.open(setting.at('work'), { stateDir: false });
    after(() => agent.close());
    mkdirSync(setting.at('work/x'));
    symlinkSync(setting.at('outside/b'), setting.at('work/x/b'));
    await agent.move({ source: 'a', destination: 'old' });
    await agent.move({ source: 'x', destination: 'a' });
    await setting.staysIn(setting.at('work/old/b'), byPath);
  });

  for (const holder of ['state/ws', 'state']) {
    for (const isLink of [true, false]) {
      test(`${isLink ? 'a link' : 'another directory'} takes the place of \`${holder}\``, async () => {
        const setting = await Setting.open(options);
        await setting.worksIn(setting.at('work/a/b'));
        renameSync(setting.at(holder), setting.at('moved'));
        if (isLink) symlinkSync(setting.at('outside'), setting.at(holder));
        else renameSync(setting.at('outside'), setting.at(holder));
        const outside = setting.at(isLink ? 'outside' : holder);
        const outcomes = await setting.work(outside);
        const history = setting.at('moved', holder === 'state' ? 'ws' : '', 'history');
        const backups = readdirSync(history).length;
        for (const { ok, error } of outcomes) assert.ok(ok || (byPath && error.code === 'backend-gone'), JSON.stringify(error));
        if (!byPath) assert.ok(backups > 0);
      });
    }

    test(`a link is created where \`${holder}\` would be created`, async () => {
      const setting = await Setting.open(options);
      assert.ok(!existsSync(setting.at('state')), 'made before it is needed');
      if (holder === 'state/ws') mkdirSync(setting.at('state'));
      symlinkSync(setting.at('outside'), setting.at(holder));
      const [read, , , edited] = await setting.work();
      assert.ok(read.ok, read.text);
      assert.equal(edited.error?.code, 'backend-gone', edited.text);
      assert.match(edited.text, /cannot make the state directory/);
    });
  }

  test('a deleted state directory is created again, and no other directory is used in its place', async () => {
    const setting = await Setting.open(options);
    await setting.worksIn(setting.at('work/a/b'));
    rmSync(setting.at('state/ws'), { recursive: true });
    await setting.worksIn(setting.at('work/a/b'));
    assert.ok(existsSync(setting.at('state/ws/history')));
    rmSync(setting.at('state/ws'), { recursive: true });
    renameSync(setting.at('outside/ws'), setting.at('state/ws'));
    const [read, , , edited] = await setting.work(setting.at('state'));
    assert.ok(read.ok, read.text);
    assert.equal(edited.error?.code, 'backend-gone', edited.text);
    rmSync(setting.at('state'), { recursive: true });
    mkdirSync(setting.at('state'));
    const { error } = await setting.workspace.call('write_file', { path: 'x', content: 'x' });
    assert.equal(error?.code, 'backend-gone');
    assert.deepEqual(readdirSync(setting.at('state')), []);
  });

  test('a link or FIFO at the lock’s path is neither followed nor waited for', async () => {
    for (const put of [(path) => symlinkSync('../../outside/lock', path), (path) => execFileSync('mkfifo', [path]), (path) => mkdirSync(path)]) {
      const setting = await Setting.open(options);
      mkdirSync(setting.at('state/ws'), { recursive: true });
      put(setting.at('state/ws/lock'));
      const [read, , , edited] = await setting.work();
      assert.ok(read.ok, read.text);
      assert.equal(edited.error?.code, 'io', edited.text);
    }
  });

  test('a link that leads back to the moved parent of the root', async () => {
    const setting = await Setting.open(options);
    renameSync(setting.at('work/a'), setting.at('work/old'));
    symlinkSync('old', setting.at('work/a'));
    await setting.staysIn(setting.at('work/old/b'), byPath);
  });

  test('a state directory that another process creates is used', async () => {
    const setting = await Setting.open(options);
    mkdirSync(setting.at('state/ws'), { recursive: true });
    await setting.worksIn(setting.at('work/a/b'));
    assert.ok(existsSync(setting.at('state/ws/history')));
  });
}
