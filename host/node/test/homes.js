/** Home directories for tests, mounts for them, and direct calls of the `wasi:filesystem` provider in them. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { Directories } from '../src/disk/directories.js';
import { directoryOf } from '../src/disk/held.js';
import { AccessControl } from '../src/wasi/access_control.js';
import { HAS_PROC } from '../src/wasi/directory.js';
import { Descriptor } from '../src/wasi/filesystem.js';
import { OpenFiles } from '../src/wasi/open_files.js';

export const NO_FOLLOW = {};
export const READ = { read: true };
export const WRITE = { read: true, write: true };
export const NEW = { create: true, exclusive: true };

export const top = realpathSync(mkdtempSync(join(tmpdir(), 'paddock-own-')));
const mounted = [];
after(() => {
  for (const path of mounted.reverse()) execFileSync('umount', ['--lazy', path]);
  rmSync(top, { recursive: true });
});

/** Reason why nothing can be mounted on this machine, if any. */
export const cannotMount = (() => {
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

export function mount(args) {
  execFileSync('mount', args, { stdio: 'pipe' });
  mounted.push(args.at(-1));
}

/** The saved values of the variables that locate Paddock's own directories. */
const variables = Object.fromEntries(['HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'PADDOCK_STATE_DIR', 'PADDOCK_CACHE_DIR'].map((name) => [name, process.env[name]]));
export function environment(wanted) {
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

/** Creates a home directory with these files, and sets the environment to it. */
export function home(files = {}) {
  const path = join(top, `home-${(homes += 1)}`);
  mkdirSync(path);
  write(path, files);
  environment({ HOME: path });
  return path;
}

export function write(above, files) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(above, name)), { recursive: true });
    writeFileSync(join(above, name), text);
  }
}

/** Returns the provider's descriptor of a workspace root: the first, or the one with this index. */
export function provider(options) {
  const directories = new Directories({ roots: [], policy: {}, ...options });
  after(() => directories.close());
  const names = directories.mounts.flatMap(({ host, aliases }) => [host, ...aliases]);
  const files = new OpenFiles(new AccessControl(directories.guarded), names);
  after(() => files.closeAll());
  const roots = directories.mounts.map(({ held, access }) => Descriptor.preopen(files, directoryOf(held), access === 'read-write'));
  return { directories, files, root: roots[0], roots };
}

/** Opens the directory at these names. */
export const at = (root, ...names) => names.reduce((directory, name) => directory.openAt(NO_FOLLOW, name, { directory: true }, READ), root);

export const refused = (code) => (error) => {
  assert.equal(error, code, error?.stack);
  return true;
};
export const isRefused = (act, about) => assert.throws(act, refused('not-permitted'), about);
