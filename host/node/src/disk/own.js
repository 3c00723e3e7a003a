/** Paddock's own directories: where they are, and how they are kept from tools. */

import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Walk, holdersOf } from './walk.js';

/** @typedef {import('../wasi/access_control.js').Guarded} Guarded */
/** @typedef {import('../wasi/directory.js').Identity} Identity */

/** Where a system shows its processes, this one's memory among them, and itself: no files that a tool could want. */
const OF_THE_KERNEL = process.platform === 'linux' ? ['/proc', '/sys'] : [];

/** Where the state directories of all workspaces are, of this host and the others: the first is used. */
export function stateParents() {
  return candidates('PADDOCK_STATE_DIR', 'XDG_STATE_HOME', '.local/state');
}

/** Where the Rust and Python hosts keep compiled components, which is native code that they map. */
function cacheDirectories() {
  return candidates('PADDOCK_CACHE_DIR', 'XDG_CACHE_HOME', '.cache');
}

/** Where a user's policy is. */
function configDirectories() {
  return candidates(undefined, 'XDG_CONFIG_HOME', '.config');
}

/**
 * What one of the environment's variables names, and where it would be without them: another process may have others.
 *
 * @param {string | undefined} own
 * @param {string} shared
 * @param {string} usual
 */
function candidates(own, shared, usual) {
  const absolute = (/** @type {string | undefined} */ path) => (path && isAbsolute(path) ? [path] : []);
  const given = own === undefined ? [] : absolute(process.env[own]);
  return [...given, ...[...absolute(process.env[shared]), join(homedir(), usual)].map((above) => join(above, 'paddock'))];
}

/**
 * What a workspace keeps from its tools: the checks of the provider, and what the guest is told of it, by which it
 * refuses early and says why.
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
 * Absolute paths in roots: of what is private there, and of links on the way to it.
 *
 * @param {import('./mounts.js').Mount[]} mounts
 * @param {Walk[]} walks
 */
function pathsOf(mounts, walks) {
  const inRoots = (/** @type {(identity: Identity) => string[][]} */ found) =>
    mounts.flatMap(({ host, held }) => found(held.identity).map((names) => join(host, ...names)));
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
 * The ways to Paddock's own directories, for the caller to close. One that cannot be followed leads to nothing that
 * another process of this user could use.
 *
 * @param {boolean} byPath
 */
export function ownWalks(byPath) {
  /** @type {Walk[]} */
  const walks = [];
  for (const path of new Set([...stateParents(), ...configDirectories(), ...cacheDirectories()])) {
    try {
      walks.push(new Walk(path, byPath));
    } catch {
      // Neither is there anything to be kept from tools.
    }
  }
  return walks;
}
