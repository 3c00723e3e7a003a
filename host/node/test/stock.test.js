/**
 * The component in a plain runtime: as `jco transpile` makes it, on jco's own shim, with no code of this host. That is
 * as safe as the shim, which opens by path what was checked before; the checks are the component's own.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { _setEnv } from '@bytecodealliance/preview2-shim/cli';
import { _setPreopens } from '@bytecodealliance/preview2-shim/filesystem';
import { place } from './support.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const SECRET = 'SECRET\n';
const here = place({ 'a.txt': 'one\ntwo\n', 'sub/b.txt': 'two\n', 'run.sh': '#!/bin/sh\n' });

/** The interfaces of the component, by `jco transpile` with no options. */
let component;

before(async () => {
  const jco = join(top, 'node_modules/.bin/jco');
  execFileSync(jco, ['transpile', 'build/paddock.wasm', '--out-dir', 'build/stock', '--quiet'], { cwd: top });
  _setPreopens({ '/workspace': here.root });
  _setEnv({});
  component = await import('../build/stock/paddock.js');
  mkdirSync(join(here.top, 'outside'));
  writeFileSync(join(here.top, 'outside/secret.txt'), SECRET);
  symlinkSync('../outside', here.at('out'));
});

function call(tool, args) {
  const { ok, text, result, error } = component.tools.call('paddock', tool, JSON.stringify(args));
  return { ok, text, error, result: JSON.parse(result) };
}

function works(tool, args) {
  const outcome = call(tool, args);
  assert.ok(outcome.ok, outcome.text);
  return outcome;
}

test('nothing of this host is in it', () => {
  const program = readFileSync(join(top, 'build/stock/paddock.js'), 'utf8');
  const from = Array.from(program.matchAll(/ from '([^']*)'/g), ([, name]) => name);
  assert.ok(from.length > 0 && from.every((name) => name.startsWith('@bytecodealliance/preview2-shim/')), from.join());
});

test('read, write, edit, patch', () => {
  assert.equal(works('read_file', { path: 'a.txt' }).text, '1|one\n2|two\n[etag c3f9c8c283a2]');
  works('write_file', { path: 'new/c.txt', content: 'three\n' });
  works('edit_file', { path: 'new/c.txt', edits: [{ old_text: 'three', new_text: 'drei' }] });
  assert.equal(readFileSync(here.at('new/c.txt'), 'utf8'), 'drei\n');
  works('apply_patch', { patch: '*** Begin Patch\n*** Update File: sub/b.txt\n-two\n+zwei\n*** End Patch\n' });
  assert.equal(readFileSync(here.at('sub/b.txt'), 'utf8'), 'zwei\n');
});

test('move, copy, delete, and nothing is left behind', () => {
  works('move', { source: 'new/c.txt', destination: 'moved.txt' });
  works('copy', { source: 'moved.txt', destination: 'copied.txt' });
  works('delete', { path: 'moved.txt' });
  assert.equal(readFileSync(here.at('copied.txt'), 'utf8'), 'drei\n');
  assert.ok(!readdirSync(here.root).some((name) => name.endsWith('.tmp')), readdirSync(here.root).join());
});

test('the typed functions', () => {
  const { content, etag } = component.files.read({
    path: 'a.txt', mode: 'lines', offset: 2n, includeSiblings: false, includeHeader: false, checksum: false,
  });
  assert.equal(content, 'two');
  assert.match(etag, /^[0-9a-f]{16}$/);
});

test('lists and searches', () => {
  for (const path of ['sub', '.']) {
    assert.match(works('list_dir', { path }).text, /b\.txt|a\.txt/);
    assert.match(works('glob', { path, pattern: '**/*.txt' }).text, /sub\/b\.txt/);
    assert.match(works('grep', { path, pattern: 'zwe[i]' }).text, /sub\/b\.txt/);
  }
});

test('a mode stays what it is', () => {
  chmodSync(here.at('run.sh'), 0o750);
  works('edit_file', { path: 'run.sh', edits: [{ old_text: 'sh\n', new_text: 'sh -e\n' }] });
  assert.equal(readFileSync(here.at('run.sh'), 'utf8'), '#!/bin/sh -e\n');
  assert.equal(statSync(here.at('run.sh')).mode & 0o7777, 0o750);
});

test('nothing leads outside', () => {
  for (const path of ['../outside/secret.txt', 'out/secret.txt', join(here.top, 'outside/secret.txt')]) {
    for (const [tool, args] of [['read_file', { path }], ['write_file', { path, content: 'x' }]]) {
      const { ok, error, text } = call(tool, args);
      assert.ok(!ok && !text.includes('SECRET'), text);
      assert.equal(error.code, 'outside-workspace');
    }
  }
  assert.equal(readFileSync(join(here.top, 'outside/secret.txt'), 'utf8'), SECRET);
  assert.ok(!existsSync(join(here.top, 'outside/x')));
});
