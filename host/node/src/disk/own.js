/** Paddock's own directories: their paths, and how they are closed to tools. */

import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Walk, holdersOf } from './walk.js';

/** @typedef {import('../wasi/access_control.js').Guarded} Guarded */
/** @typedef {import('../wasi/identities.js').Identity} Identity */

/** File systems of the kernel, which expose processes and the memory of this one. */
const OF_THE_KERNEL = process.platform === 'linux' ? ['/proc', '/sys'] : [];

/** The directories that hold the state directories of all workspaces. This process uses the first. */
export function stateParents() {
  return candidates('PADDOCK_STATE_DIR', 'XDG_STATE_HOME', '.local/state');
}

/** The caches of compiled components: native code, which the Rust and Python hosts map. */
function cacheDirectories() {
  return candidates('PADDOCK_CACHE_DIR', 'XDG_CACHE_HOME', '.cache');
}

/** The directories of the user's policy. The Rust host reads the first. */
export function configDirectories() {
  const directories = candidates(undefined, 'XDG_CONFIG_HOME', '.config');
  const { APPDATA } = process.env;
  if (process.platform === 'win32' && APPDATA && isAbsolute(APPDATA)) directories.splice(-1, 0, join(APPDATA, 'paddock'));
  return directories;
}

/**
 * Returns the directories that the environment names, and the default ones, which a process with another environment
 * uses.
 *
 * @param {string | undefined} own
 * @param {string} shared
 * @param {string} usual
 * /
 */
function candidates(own, shared, usual) {
  const absolute = (/** @type {string | undefined} */ path) => (path && isAbsolute(path) ? [path] : []);
  const configured = own === undefined ? [] : absolute(process.env[own]);
  return [...configured, ...[...absolute(process.env[shared]), join(homedir(), usual)].map((above) => join(above, 'paddock'))];
}

/**
 * Returns the files that are closed to tools, in two forms: for the provider, which enforces this, and for the guest,
 * which refuses early with a reason.
 *
 * @param {import('./mounts.js').Mount[]} mounts
 * @param {Walk | undefined} state
 * @param {Walk[]} own
 */
export function guarded(mounts, state, own) {
  const walks = [...(state ? [state] : []), ...own];
  /** @type {Guarded} */
  const guarded = {
    closed: walks.filter(({ missing }) => missing.length === 0).map(({ directory }) => directory.identity),
    pinned: [
      ...mounts.flatMap(({ held, holders }) => [held.identity, ...holders]),
      ...walks.flatMap((walk) => [walk.directory.identity, ...holdersOf(walk.directory), ...walk.links.map(({ identity }) => identity)]),
    ],
    readOnly: mounts.filter(({ access }) => access === 'read-only').map(({ held }) => held.identity),
    reserved: walks.map(reserved),
  };
  return { guarded, paths: pathsOf(mounts, walks) };
}

/** @param {Walk} walk @returns {import('../wasi/access_control.js').Reserved} */
function reserved(walk) {
  if (walk.missing.length > 0) return { holder: walk.directory.identity, names: walk.missing };
  return { holder: walk.holder.identity, names: [walk.name] };
}

/**
 * Absolute paths below the roots: of Paddock's own directories, and of links on the way to them.
 *
 * @param {import('./mounts.js').Mount[]} mounts
 * @param {Walk[]} walks
 */
function pathsOf(mounts, walks) {
  const inRoots = (/** @type {(identity: Identity) => string[][]} */ locate) =>
    mounts.flatMap(({ host, held }) => locate(held.identity).map((names) => join(host, ...names)));
  const kernel = OF_THE_KERNEL.map((path) => new Walk(path));
  try {
    const ends = [...walks, ...kernel];
    const one = (/** @type {string[] | undefined} */ names) => (names === undefined ? [] : [names]);
    return {
      private: [...new Set(inRoots((root) => ends.flatMap((walk) => one(walk.below(root)))))],
      fixed: [...new Set(inRoots((root) => walks.flatMap((walk) => walk.linksBelow(root))))],
    };
  } finally {
    for (const walk of kernel) walk.close();
  }
}

/**
 * Follows the paths of Paddock's own directories as far as possible. The caller closes the walks.
 *
 * @param {boolean} byPath
 */
export function ownWalks(byPath) {
  const paths = new Set([...stateParents(), ...configDirectories(), ...cacheDirectories()]);
  return [...paths].map((path) => new Walk(path, byPath, true));
}
