/** The command of the package: the native program of the same version, and otherwise this host. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { fixture } from './support.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'));
const PLATFORM = `@paddock-files/${process.platform}-${process.arch}`;

/** Copies this package, as it is published, and returns the path of its command. */
function installed(name) {
  const build = join(top, 'build', name, 'node_modules/paddock-files');
  rmSync(join(top, 'build', name), { recursive: true, force: true });
  for (const part of ['src', 'component']) cpSync(join(top, part), join(build, part), { recursive: true });
  writeFileSync(join(build, 'package.json'), JSON.stringify({ ...manifest, optionalDependencies: { [PLATFORM]: manifest.version } }));
  return join(build, 'src/bin.js');
}

/** The `node_modules` in which npm has installed a package, by the path of its command. */
const modulesOf = (bin) => join(dirname(bin), '../..');

/** Writes the package of this platform into a `node_modules`. Its program is Node, whose first argument is a script. */
function writeNative(modules, { version = manifest.version, program = (path) => symlinkSync(process.execPath, path) } = {}) {
  const directory = join(modules, PLATFORM);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ version }));
  program(join(directory, 'paddock'));
}

/** Installs this package beside a native program. */
function withNative(name, options) {
  const bin = installed(name);
  writeNative(modulesOf(bin), options);
  return bin;
}

const run = (bin, args, options = {}) => spawnSync(process.execPath, [bin, ...args], { encoding: 'utf8', input: 'from stdin', ...options });

/** Asserts that the tools ran in Node, and that standard error says why. */
function assertInNode({ stdout, stderr, status }, reason) {
  assert.match(stderr, /^paddock: the tools run in Node: /);
  assert.match(stderr, reason);
  assert.deepEqual([JSON.parse(stdout).length, status], [17, 0]);
}

/** Writes a script for the program, and returns its path. */
function script(text) {
  const here = fixture({ 'script.cjs': text });
  return here.at('script.cjs');
}

test('the native program has the arguments, the streams and the exit status', () => {
  const echo = script('process.stdout.write(process.argv.slice(2).join() + require("fs").readFileSync(0, "utf8")); console.error("error"); process.exit(7)');
  const { stdout, stderr, status } = run(withNative('native'), [echo, 'call', 'a b']);
  assert.deepEqual([stdout, stderr, status], ['call,a bfrom stdin', 'error\n', 7]);
  const nested = installed('nested');
  writeNative(join(dirname(nested), '../node_modules'));
  assert.equal(run(nested, [echo]).status, 7);
});

test('without the program of this version, the tools run in Node, and standard error says so', () => {
  assertInNode(run(withNative('other-version', { version: '0.0.0' }), ['tools']), /has another version than/);
  assertInNode(run(installed('alone'), ['tools']), /the package `@paddock-files\/.*` is not installed/);
  const bin = installed('other-platform');
  writeFileSync(join(dirname(bin), '../package.json'), JSON.stringify({ ...manifest, optionalDependencies: {} }));
  assertInNode(run(bin, ['tools']), /there is no native program for/);
  // A clone has no packages of platforms, which is no news to the person who works in it.
  writeFileSync(join(dirname(bin), '../package.json'), JSON.stringify(manifest));
  assert.deepEqual([run(bin, ['tools']).stderr, run(bin, ['tools']).status], ['', 0]);
});

/** Changes bytes of the start of Node's own program. */
const header = (change, length = 4096) => (path) => {
  const bytes = Buffer.from(readFileSync(process.execPath).subarray(0, length));
  change(bytes);
  writeFileSync(path, bytes, { mode: 0o755 });
};

const damaged = {
  'empty file': [header(() => {}, 0), /is damaged, or not for/],
  'text without `#!`': [(path) => writeFileSync(path, 'echo executed by a shell >&2\n'.repeat(9), { mode: 0o755 }), /is damaged, or not for/],
  script: [(path) => writeFileSync(path, `#!/bin/sh\n${'echo executed >&2\n'.repeat(9)}`, { mode: 0o755 }), /is damaged, or not for/],
  'program for another processor': [header((bytes) => bytes.writeUInt16LE(0x1234, 18)), /is damaged, or not for/],
  'program that ends in its header': [header(() => {}, 100), /is damaged, or not for/],
  'program without segments': [header((bytes) => bytes.writeUInt16LE(0, 56)), /is damaged, or not for/],
  directory: [(path) => mkdirSync(path), /cannot be read: EISDIR/],
  'link to itself': [(path) => symlinkSync('paddock', path), /cannot be read: ELOOP/],
  'missing file': [() => {}, /cannot be read: ENOENT/],
  'file without the right to execute it': [
    (path) => writeFileSync(path, readFileSync('/bin/sh'), { mode: 0o644 }),
    /cannot be run: .*EACCES/,
  ],
};
const isElf = process.platform === 'linux' ? false : 'the headers are those of ELF';
for (const [name, [program, reason]] of Object.entries(damaged)) {
  test(`a native program is not used, nor run by a shell: ${name}`, { skip: isElf }, () => {
    const output = run(withNative('damaged', { program }), ['tools']);
    assertInNode(output, reason);
    assert.equal(output.stderr.trimEnd().split('\n').length, 1, output.stderr);
  });
}

test('no native program is taken from where npm does not install one for this package', () => {
  const bin = installed('elsewhere');
  const here = fixture();
  const build = join(modulesOf(bin), '..');
  for (const modules of [join(here.root, 'np'), join(here.root, '.node_modules'), join(here.root, '.node_libraries'), join(here.root, 'node_modules'), join(build, '../node_modules')]) writeNative(modules);
  try {
    const env = { ...process.env, HOME: here.root, NODE_PATH: join(here.root, 'np') };
    assertInNode(run(bin, ['tools'], { env, cwd: here.root }), /is not installed/);
  } finally {
    rmSync(join(build, '../node_modules'), { recursive: true });
  }
});

test('a signal ends the native program', async () => {
  const waiting = script("for (const name of ['SIGTERM', 'SIGQUIT']) process.on(name, () => { console.log(`ended by ${name}`); process.exit(3); }); console.log('ready'); setInterval(() => {}, 1000);");
  const bin = withNative('signals');
  for (const signal of ['SIGTERM', 'SIGQUIT']) {
    const child = spawn(process.execPath, [bin, waiting]);
    let printed = '';
    child.stdout.on('data', (bytes) => {
      printed += bytes;
      if (printed === 'ready\n') child.kill(signal);
    });
    const [status] = await once(child, 'exit');
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.deepEqual([printed, status], [`ready\nended by ${signal}\n`, 3]);
  }
  const killed = run(bin, [script("process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000);")]);
  assert.equal(killed.signal, 'SIGKILL');
});

/** Reads a file by the command, in a home directory with these files and with a policy in `PADDOCK_POLICY`. */
function callWithPolicies(bin, { config = {}, variable, args = [], hasXdg = false }) {
  const here = fixture({ 'private/key': 'SECRET\n' });
  for (const [name, text] of Object.entries(config)) {
    mkdirSync(dirname(join(here.top, name)), { recursive: true });
    writeFileSync(join(here.top, name), text);
  }
  const { XDG_CONFIG_HOME, PADDOCK_POLICY, ...others } = process.env;
  const env = { ...others, HOME: here.top, PADDOCK_STATE_DIR: here.state, ...(variable !== undefined && { PADDOCK_POLICY: variable }), ...(hasXdg && { XDG_CONFIG_HOME: here.top }) };
  writeFileSync(join(here.top, 'policy.json'), '{"blocked_directories": ["private"]}');
  const resolved = args.map((argument) => argument.replace('HOME', here.top));
  return run(bin, ['call', '--root', here.root, ...resolved, 'read_file', '{"path": "private/key"}'], { env });
}

test('the tools in Node do not run without the policy that the native program reads', () => {
  const bin = installed('policies');
  const BLOCKS = '{"blocked_directories": ["private"]}';
  const open = callWithPolicies(bin, {});
  assert.match(open.stdout, /SECRET/);
  for (const name of ['yaml', 'yml', 'toml', 'json']) {
    for (const args of [[], ['--policy', 'HOME/policy.json'], ['--ignore-project-policy']]) {
      const refused = callWithPolicies(bin, { config: { [`.config/paddock/policy.${name}`]: 'blocked_directories: [private]\n' }, args });
      assert.deepEqual([refused.stdout, refused.status], ['', 2]);
      assert.match(refused.stderr, /paddock: the user's policy `.*\/\.config\/paddock\/policy\.[a-z]+` says .*--ignore-user-policy/s);
    }
  }
  const config = { '.config/paddock/policy.yaml': 'blocked_directories: [private]\n' };
  assert.match(callWithPolicies(bin, { config, args: ['--ignore-user-policy'] }).stdout, /SECRET/);
  const replaced = callWithPolicies(bin, { config, args: ['--ignore-user-policy', '--policy', 'HOME/policy.json'] });
  assert.equal(JSON.parse(replaced.stdout).error.code, 'denied');
  const elsewhere = callWithPolicies(bin, { config: { 'paddock/policy.toml': '' }, hasXdg: true });
  assert.deepEqual([elsewhere.stdout, elsewhere.status], ['', 2]);
  const variable = callWithPolicies(bin, { variable: BLOCKS });
  assert.deepEqual([JSON.parse(variable.stdout).error.code, variable.status], ['denied', 1]);
  assert.match(callWithPolicies(bin, { variable: '' }).stdout, /SECRET/);
  for (const [wrong, message] of [['blocked_directories: [private]', /cannot read `PADDOCK_POLICY`: .*this host reads JSON/s], ['[]', /not a JSON object/], ['{"blocked": []}', /blocked/]]) {
    const refused = callWithPolicies(bin, { variable: wrong });
    assert.doesNotMatch(refused.stdout, /SECRET/);
    assert.match(refused.stderr + refused.stdout, message);
    assert.notEqual(refused.status, 0);
  }
  const both = callWithPolicies(bin, { variable: BLOCKS, args: ['--policy', 'HOME/policy.json'] });
  assert.deepEqual([both.stdout, both.status], ['', 2]);
  assert.match(both.stderr, /`PADDOCK_POLICY` and one in `--policy`/);
});
