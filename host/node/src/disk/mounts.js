/** The directories that the guest gets: the roots, and further directories that the policy allows. */

import { basename, isAbsolute, resolve } from 'node:path';
import { PaddockError, toolError } from '../errors.js';
import { same } from '../wasi/identities.js';
import { isOfKernel } from '../wasi/kernel_files.js';
import { STATE } from './state.js';
import { Walk, holdersOf } from './walk.js';

/** The guest path of the first root, the workspace itself. */
export const WORKSPACE = '/workspace';

const OVERLAY = '/paddock-overlay';

/** @typedef {import('../wasi/identities.js').Identity} Identity */
/** @typedef {'read-only' | 'read-write'} Access */

/**
 * A directory and its guest path.
 *
 * @typedef {object} Mount
 * @property {string} host Absolute path, without links, when the directory was opened.
 * @property {string[]} aliases The absolute path by which the caller named the directory, if it is not `host`.
 * @property {string} guest
 * @property {Access} access
 * @property {import('./held.js').Held} held The open directory.
 * @property {Identity[]} holders Its parent directories when it was opened.
 */

/**
 * A further root.
 *
 * @typedef {object} RootOption
 * @property {string} path Path of the directory.
 * @property {string} [guest] Guest path, `/` and one name. Default: the directory's own name.
 * @property {Access} [access] Access of tools. Default: `read-write`.
 */

/** How roots are opened: their holder, Paddock's own directories, which cannot be roots, and whether paths are used. @typedef {{holder: import('./held.js').Holder, own: Walk[], byPath: boolean}} Opening */

/**
 * Opens the roots, the workspace first. Fails if a root is not a directory or a guest path is taken.
 *
 * @param {RootOption} workspace
 * @param {RootOption[]} further
 * @param {import('../policy.js').Policy} policy
 * @param {Opening} opening
 * @returns {Mount[]}
 */
export function mounts(workspace, further, policy, opening) {
  /** @type {Mount[]} */
  const mounts = [];
  const taken = new Set([WORKSPACE, STATE, OVERLAY]);
  const add = (/** @type {RootOption} */ { path, access = 'read-write' }, /** @type {string | undefined} */ guest, canBeKnown = false) => {
    const opened = openRoot(path, mounts, opening, canBeKnown);
    if ('access' in opened) {
      if (access === 'read-only') opened.access = access;
      return;
    }
    mounts.push({ ...opened, guest: guest ?? freeName(`/${basename(opened.host) || 'root'}`, taken), access });
  };
  add(workspace, WORKSPACE);
  for (const root of further) add(root, root.guest === undefined ? undefined : checkGuest(root.guest, taken));
  for (const root of allowed(policy)) add(root, root.guest, true);
  settleRights(mounts, policy.read_only === true);
  return mounts;
}

/** @param {import('../policy.js').Policy} policy @returns {RootOption[]} */
function allowed({ allowed_directories = [], mode }) {
  const listed = allowed_directories.map((one) => (typeof one === 'string' ? { path: one } : one));
  const relative = listed.find(({ path }) => !isAbsolute(path));
  if (relative) {
    throw new PaddockError(toolError('invalid-argument', `wrong policy: \`allowed_directories\`: \`${relative.path}\` is not absolute`, 'name the directory by its absolute path'));
  }
  return mode === 'unrestricted' ? [...listed, { path: '/', guest: '/host' }] : listed;
}

/**
 * Opens the directory of a root, or finds the root that has it open already.
 *
 * @param {string} path
 * @param {Mount[]} mounts
 * @param {Opening} opening
 * @param {boolean} canBeKnown Whether the directory may be a root that is already open.
 * @returns {Mount | Pick<Mount, 'host' | 'aliases' | 'held' | 'holders'>}
 */
function openRoot(path, mounts, { holder, own, byPath }, canBeKnown) {
  const walk = openNamed('the root', path, mounts, byPath);
  try {
    const { identity } = endOf(walk).directory;
    const known = mounts.find(({ held }) => same(held.identity, identity));
    if (known && canBeKnown) return known;
    const directory = walk.openEnd();
    const held = holder.hold(directory, walk.path);
    const holders = holdersOf(directory);
    checkOwn(path, [identity, ...holders], own);
    return { host: walk.path, aliases: aliases(path, walk.path), held, holders };
  } catch (cause) {
    throw unopened('the root', path, cause);
  } finally {
    walk.close();
  }
}

/** @param {string} path As the caller gave it. @param {string} host @returns {string[]} */
function aliases(path, host) {
  const absolute = resolve(path);
  return absolute === host || path.split(/[\\/]/).includes('..') ? [] : [absolute];
}

/**
 * Follows the path of a directory that a setting names: a root, a directory of the policy, or the state directory.
 * Every check of such a path is here. Fails if a link in a root leads out of that root, because the content of the
 * root would then decide which directory the setting names, and if the path is in a file system of the kernel.
 *
 * @param {string} what
 * @param {string} path
 * @param {Mount[]} mounts The roots so far.
 * @param {boolean} byPath
 * @returns {Walk} For the caller to close.
 */
export function openNamed(what, path, mounts, byPath) {
  const walk = follow(what, path, byPath);
  try {
    const root = mounts.find(({ held }) => walk.leaves(held.identity));
    if (root) {
      const cause = `a symbolic link in the root \`${root.host}\` leads out of it`;
      throw toolError('outside-workspace', `cannot open ${what} \`${path}\`: ${cause}`, `if that is meant, name \`${walk.path}\``);
    }
    if (isOfKernel(walk.directory.itself)) {
      throw toolError('denied', `cannot open ${what} \`${path}\`: it is in a file system of the kernel`, 'name a directory of files');
    }
    return walk;
  } catch (cause) {
    walk.close();
    throw unopened(what, path, cause);
  }
}

/** @param {string} what @param {string} path @param {boolean} byPath */
function follow(what, path, byPath) {
  try {
    return new Walk(path, byPath);
  } catch (cause) {
    throw unopened(what, path, cause);
  }
}

/** Fails if the path does not end at a directory. @param {Walk} walk */
function endOf(walk) {
  if (walk.missing.length === 0) return walk;
  const isFile = walk.isBlocked;
  throw Object.assign(new Error(isFile ? 'it is not a directory' : 'no such file or directory'), { code: isFile ? 'ENOTDIR' : 'ENOENT' });
}

/** Refuses a root that is one of Paddock's own directories. @param {string} path @param {Identity[]} identities The root and its parent directories. @param {Walk[]} own */
export function checkOwn(path, identities, own) {
  const isOwn = (/** @type {Walk} */ { directory, missing }) => missing.length === 0 && identities.some((identity) => same(identity, directory.identity));
  if (!own.some(isOwn)) return;
  throw toolError('denied', `cannot open the root \`${path}\`: it belongs to the program that runs the tools`, 'name another directory');
}

/** Returns the failure to open a directory, with its cause. @param {string} what @param {string} path @param {any} cause */
export function unopened(what, path, cause) {
  if (cause instanceof PaddockError) return cause;
  if (typeof cause?.code === 'string' && !(cause instanceof Error)) return new PaddockError(cause);
  const code = CODES[cause?.code ?? cause] ?? 'io';
  return new PaddockError(toolError(code, `cannot open ${what} \`${path}\`: ${cause?.message ?? cause}`, 'name a directory that is there'));
}

/** @type {Record<string, import('../errors.js').ErrorCode>} */
const CODES = { ENOENT: 'not-found', 'no-entry': 'not-found', ENOTDIR: 'not-a-directory', 'not-directory': 'not-a-directory', EACCES: 'permission-denied' };

/** @param {string} guest @param {Set<string>} taken */
function checkGuest(guest, taken) {
  const name = guest.slice(1);
  const isName = guest.startsWith('/') && name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);
  if (!isName) throw new PaddockError(toolError('invalid-argument', `cannot mount \`${guest}\`: a guest path is \`/\` and one name`));
  if (taken.has(guest)) throw new PaddockError(toolError('invalid-argument', `cannot mount \`${guest}\`: that guest path is taken`));
  taken.add(guest);
  return guest;
}

/** @param {string} name @param {Set<string>} taken A number is added if another root has the name. */
function freeName(name, taken) {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name}-${number}`;
  taken.add(free);
  return free;
}

/**
 * Gives roots that are one directory the narrower of their rights. In a read-only workspace, every root is read-only.
 *
 * @param {Mount[]} mounts
 * @param {boolean} readOnly
 */
function settleRights(mounts, readOnly) {
  const narrow = mounts.filter(({ access }) => access === 'read-only');
  for (const mount of mounts) {
    if (readOnly || narrow.some(({ held }) => same(held.identity, mount.held.identity))) mount.access = 'read-only';
  }
}
