/** The command of the package: the native program of the same version, and otherwise this host. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'));

/** Installs this package beside a native program that is a shell script. */
function installed(name, program, { version: ofProgram = version, mode = 0o755 } = {}) {
  const build = join(top, 'build', name);
  rmSync(build, { recursive: true, force: true });
  for (const part of ['src', 'component', 'package.json']) cpSync(join(top, part), join(build, part), { recursive: true });
  const native = join(build, `node_modules/@paddock-files/${process.platform}-${process.arch}`);
  mkdirSync(native, { recursive: true });
  writeFileSync(join(native, 'package.json'), JSON.stringify({ version: ofProgram }));
  writeFileSync(join(native, 'paddock'), `#!/bin/sh\n${program}\n`, { mode });
  return [join(build, 'src/bin.js')];
}

const run = (bin, ...args) => spawnSync(process.execPath, [...bin, ...args], { encoding: 'utf8', input: 'from stdin' });

test('the native program has the arguments, the streams and the exit status', () => {
  const { stdout, stderr, status } = run(installed('native', 'echo "$@"; cat; echo error >&2; exit 7'), 'call', 'a b');
  assert.deepEqual([stdout, stderr, status], ['call a b\nfrom stdin', 'error\n', 7]);
});

test('a program of another version, or one that cannot be run, is not used', () => {
  const other = run(installed('other-version', 'echo native', { version: '0.0.0' }), 'tools');
  assert.deepEqual([JSON.parse(other.stdout).length, other.stderr, other.status], [17, '', 0]);
  const broken = run(installed('broken', 'echo native', { mode: 0o644 }), 'tools');
  assert.match(broken.stderr, /cannot run the native program, so the tools run in Node: .*EACCES/);
  assert.deepEqual([JSON.parse(broken.stdout).length, broken.status], [17, 0]);
});

test('a signal ends the native program', async () => {
  const child = spawn(process.execPath, [...installed('signals', "trap 'echo ended; exit 3' TERM; echo ready; while :; do sleep 0.1; done")]);
  let printed = '';
  child.stdout.on('data', (bytes) => {
    printed += bytes;
    if (printed === 'ready\n') child.kill('SIGTERM');
  });
  const [status] = await once(child, 'close');
  assert.deepEqual([printed, status], ['ready\nended\n', 3]);
  const killed = run(installed('killed', 'kill -KILL $$'));
  assert.equal(killed.signal, 'SIGKILL');
});
