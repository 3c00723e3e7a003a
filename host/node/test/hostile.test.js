/**
 * A workspace with all entries that make file tools fail: each call ends soon with a value, and the next call works.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, linkSync, mkdirSync, openSync, readFileSync, readdirSync, readlinkSync, statSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Workspace } from '../src/index.js';
import { HAS_PROC } from '../src/wasi/directory.js';
import { fixture } from './support.js';

const SECRET = 'SECRET\n';

for (const byPath of HAS_PROC ? [false, true] : [true]) {
  describe(byPath ? 'hostile, by paths' : 'hostile', () => {
    const here = fixture({ 'a.txt': 'one\ntwo\n', 'sub/b.txt': 'b\n', '.git/config': '[core]\n', 'shared.txt': 'old\n' });
    let workspace;
    let socket;

    before(async () => {
      mkdirSync(join(here.top, 'outside'));
      writeFileSync(join(here.top, 'outside/secret.txt'), SECRET);
      execFileSync('mkfifo', [here.at('fifo')]);
      for (const [name, target] of [['out', '../outside'], ['file', '../outside/secret.txt'], ['absolute', join(here.top, 'outside')], ['dangling', '../outside/new'], ['proc', '/proc/self/root'], ['loop', 'loop'], ['inside', 'a.txt'], ['up', '..']]) {
        symlinkSync(target, here.at(name));
      }
      for (const [name, target] of [['whole', 'sub'], ['up and in', 'sub/../a.txt'], ['over', '../outside/secret.txt'], ['round', 'round']]) {
        symlinkSync(`${here.root}/${target}`, here.at(name));
      }
      symlinkSync(`${here.root}-evil/secret.txt`, here.at('evil'));
      mkdirSync(`${here.root}-evil`);
      writeFileSync(`${here.root}-evil/secret.txt`, SECRET);
      linkSync(here.at('shared.txt'), join(here.top, 'outside/shared.txt'));
      closeSync(openSync(here.at('huge'), 'w'));
      truncateSync(here.at('huge'), 2 ** 40);
      mkdirSync(here.at('odd'));
      for (const name of [Buffer.from('bad\xff', 'latin1'), Buffer.from('bad\ufffd'), Buffer.from('ok')]) {
        writeFileSync(Buffer.concat([Buffer.from(here.at('odd/')), name]), 'x\n');
      }
      socket = createServer().listen(here.at('socket'));
      workspace = await Workspace.open(here.root, { stateDir: here.state, byPath });
    });
    after(() => {
      workspace.close();
      socket.close();
    });

    /** Makes a call that must fail at once with one of these codes. */
    async function fails(code, tool, args) {
      const { ok, error, text } = await workspace.call(tool, args, { timeMs: 5_000 });
      assert.equal(ok, false, `${tool} ${JSON.stringify(args)}: ${text}`);
      assert.ok([code].flat().includes(error.code), `${tool} ${JSON.stringify(args)}: ${JSON.stringify(error)}`);
      // The answer contains no path or content from outside, except the caller's own argument.
      assert.ok(!text.includes('SECRET') && !text.replaceAll(args.path ?? '', '').includes(here.top), text);
      assert.equal(readFileSync(join(here.top, 'outside/secret.txt'), 'utf8'), SECRET);
    }

    const ok = async (tool, args) => {
      const outcome = await workspace.call(tool, args);
      assert.ok(outcome.ok, outcome.text);
      return outcome.result;
    };

    test('FIFOs, sockets and devices are refused', async () => {
      const devices = process.getuid?.() === 0 && tryDevice(here.at('zero')) ? ['zero'] : [];
      for (const path of ['fifo', 'socket', ...devices]) {
        await fails('not-a-file', 'read_file', { path });
        await fails('not-a-file', 'write_file', { path, content: 'x' });
        await fails('not-a-file', 'edit_file', { path, edits: [{ old_text: 'a', new_text: 'b' }] });
        await fails('not-a-file', 'grep', { pattern: 'x', path });
      }
      const { skipped } = await ok('grep', { pattern: 'tw[o]' });
      assert.equal(skipped.special, 2 + devices.length);
    });

    test('no path leads outside', async () => {
      for (const path of ['../outside/secret.txt', 'sub/../../outside/secret.txt', '/etc/passwd', join(here.top, 'outside/secret.txt'), `${here.root}-evil/x`]) {
        await fails('outside-workspace', 'read_file', { path });
        await fails('outside-workspace', 'write_file', { path, content: 'x' });
      }
      for (const path of ['out/secret.txt', 'file', 'absolute/secret.txt', 'up/outside/secret.txt', 'over', 'evil', 'proc/etc/passwd', 'out/', 'file/']) {
        await fails('outside-workspace', 'read_file', { path });
        await fails('outside-workspace', 'delete', { path: `${path.replace(/\/$/, '')}/x` });
      }
      await fails('outside-workspace', 'write_file', { path: 'dangling', content: 'x' });
      await fails('outside-workspace', 'copy', { source: 'a.txt', destination: 'out/copied' });
      await fails('outside-workspace', 'move', { source: 'a.txt', destination: 'out/moved' });
      await fails('outside-workspace', 'make_dir', { path: 'out/made' });
      assert.deepEqual(readdirSync(join(here.top, 'outside')).sort(), ['secret.txt', 'shared.txt']);
    });

    test('invalid paths', async () => {
      for (const path of ['', 'a\0b', 'a\\b', '.git\\hooks\\x', 'loop', 'x'.repeat(5_000), 'x'.repeat(300)]) {
        await fails(['invalid-path', 'invalid-argument', 'not-found'], 'read_file', { path });
        await fails(['invalid-path', 'invalid-argument'], 'write_file', { path, content: 'x' });
      }
      for (const path of ['%2e%2e/outside', '$HOME/x', 'file:///etc/passwd', 'a.txt/', 'a.txt/x']) {
        await fails(['not-found', 'not-a-directory'], 'read_file', { path });
      }
      await fails('outside-workspace', 'write_file', { path: '~/x', content: 'x' });
      await fails('invalid-argument', 'read_file', { path: 'a.txt', offset: 2 ** 60 });
    });

    test('an absolute target of a link is resolved below the root, and the link keeps its target', async () => {
      assert.equal((await ok('read_file', { path: 'whole/b.txt' })).content, 'b');
      assert.equal((await ok('read_file', { path: 'up and in' })).path, 'a.txt');
      await fails('invalid-path', 'read_file', { path: 'round' });
      await ok('delete', { path: 'whole' });
      await ok('restore', { path: 'whole' });
      assert.equal(readlinkSync(here.at('whole')), here.at('sub'));
      unlinkSync(here.at('whole'));
      symlinkSync(join(here.top, 'outside'), here.at('whole'));
      await fails('outside-workspace', 'read_file', { path: 'whole/secret.txt' });
    });

    test('a link inside the workspace works, and stays', async () => {
      await ok('edit_file', { path: 'inside', edits: [{ old_text: 'two', new_text: 'zwei' }] });
      assert.equal(readFileSync(here.at('a.txt'), 'utf8'), 'one\nzwei\n');
      await ok('delete', { path: 'loop' });
      assert.ok(!existsSync(here.at('loop')));
    });

    test('protected paths are read and not written', async () => {
      await ok('read_file', { path: '.git/config' });
      for (const path of ['.git/config', '.git/hooks/pre-commit', '.GIT/hooks/x', 'sub/.git/config', '.vscode/settings.json', '.mcp.json']) {
        await fails('read-only', 'write_file', { path, content: 'x' });
      }
      await fails('read-only', 'move', { source: 'sub', destination: '.vscode' });
    });

    test('a hard link outside keeps its content', async () => {
      const { notes } = await ok('write_file', { path: 'shared.txt', content: 'new\n' });
      assert.match(notes.join(), /hard link/);
      assert.equal(readFileSync(join(here.top, 'outside/shared.txt'), 'utf8'), 'old\n');
    });

    test('a file of 1 TiB', async () => {
      await fails('binary-file', 'read_file', { path: 'huge' });
      await fails(['too-large', 'binary-file'], 'edit_file', { path: 'huge', edits: [{ old_text: 'a', new_text: 'b' }] });
      const { size } = await ok('stat', { path: 'huge' });
      assert.equal(size, 2 ** 40);
      const { content } = await ok('read_file', { path: 'huge', mode: 'base64', offset: 2 ** 39, limit: 3 });
      assert.equal(content, 'AAAA');
    });

    test('names that are not UTF-8 are counted, and no other entry is reached by their decoded form', async () => {
      const { entries, skipped } = await ok('list_dir', { path: 'odd' });
      assert.deepEqual(entries.map(({ path }) => path), ['odd/bad\ufffd', 'odd/ok']);
      assert.equal(skipped.unnamed, 1);
      await ok('delete', { path: 'odd/bad\ufffd' });
      const left = readdirSync(here.at('odd'), { encoding: 'latin1' });
      assert.deepEqual(left.sort(), ['bad\xff', 'ok']);
      writeFileSync(here.at('odd/bad\ufffd'), 'x\n');
    });

    test('unusual names work', async () => {
      for (const path of ['__proto__', 'constructor', 'toString', '-rf', '--help', 'e\u0301', 'a\u200db', 'new\nline']) {
        await ok('write_file', { path, content: `${path}\n` });
        assert.equal(readFileSync(here.at(path), 'utf8'), `${path}\n`);
        await ok('delete', { path });
      }
      assert.equal({}.polluted, undefined);
    });

    test('regular expressions take linear time', async () => {
      writeFileSync(here.at('as'), 'a'.repeat(1 << 20));
      const began = performance.now();
      for (const pattern of ['(a+)+$', '(a|a)*b', '(.*)*c']) await workspace.call('grep', { pattern, path: 'as' });
      assert.ok(performance.now() - began < 10_000);
      await fails('invalid-argument', 'grep', { pattern: 'a{1000}{1000}{1000}' });
    });

    test('a file keeps its mode and modification time', async () => {
      writeFileSync(here.at('run.sh'), '#!/bin/sh\n', { mode: 0o755 });
      await ok('edit_file', { path: 'run.sh', edits: [{ old_text: 'sh\n', new_text: 'sh -e\n' }] });
      assert.equal(statSync(here.at('run.sh')).mode & 0o777, 0o755);
      const { modified } = await ok('stat', { path: 'run.sh' });
      const { mtimeNs } = statSync(here.at('run.sh'), { bigint: true });
      assert.equal(BigInt(Date.parse(modified)) * 1_000_000n + (mtimeNs % 1_000_000n), mtimeNs);
    });
  });
}

function tryDevice(path) {
  try {
    if (!existsSync(path)) execFileSync('mknod', [path, 'c', '1', '5'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
