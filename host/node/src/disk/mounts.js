/** The directories that a guest gets: the roots, and what the policy allows beside them. */

import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { PaddockError, toolError } from '../errors.js';
import { STATE } from './state.js';

/** The guest path of the first root, the workspace itself. */
export const WORKSPACE = '/workspace';

const OVERLAY = '/paddock-overlay';

/** Links that one path may go through, as on Linux. */
const MAX_LINKS = 40;

/** @typedef {import('./root.js').Mount} Mount */
/** @typedef {'read-only' | 'read-write'} Access */

/**
 * A further directory.
 *
 * @typedef {object} RootOption
 * @property {string} path Where it is.
 * @property {string} [guest] Where tools see it, `/` and one name. Default: its own name.
 * @property {Access} [access] What may be done there. Default: `read-write`.
 */

/**
 * The workspace first. Fails where a root is no directory or a guest path is taken.
 *
 * @param {RootOption} workspace
 * @param {RootOption[]} further
 * @param {import('../policy.js').Policy} policy
 * @returns {Mount[]}
 */
export function mounts(workspace, further, policy) {
  /** @type {Mount[]} */
  const mounts = [];
  const taken = new Set([WORKSPACE, STATE, OVERLAY]);
  const add = (/** @type {RootOption} */ root, /** @type {string | undefined} */ guest) => {
    checkWay(mounts, root.path);
    const mount = { host: realDirectory(root.path), guest: guest ?? '', access: root.access ?? 'read-write' };
    mount.guest ||= freeName(`/${basename(mount.host) || 'root'}`, taken);
    mounts.push(mount);
  };
  add(workspace, WORKSPACE);
  for (const root of further) add(root, root.guest === undefined ? undefined : checkGuest(root.guest, taken));
  for (const root of allowed(policy)) {
    const known = mounts.find(({ host }) => host === realDirectory(root.path));
    if (!known) add(root, root.guest);
    else if (root.access === 'read-only') known.access = 'read-only';
  }
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

/** @param {string} path Its path without links. */
function realDirectory(path) {
  try {
    const real = realpathSync.native(resolve(path));
    if (!statSync(real).isDirectory()) throw Object.assign(new Error('it is not a directory'), { code: 'ENOTDIR' });
    return real;
  } catch (cause) {
    const { code, message } = /** @type {any} */ (cause);
    const kind = code === 'ENOENT' ? 'not-found' : code === 'ENOTDIR' ? 'not-a-directory' : 'io';
    throw new PaddockError(toolError(kind, `cannot open the root \`${path}\`: ${message}`, 'name a directory that is there'));
  }
}

/** @param {string} guest @param {Set<string>} taken */
function checkGuest(guest, taken) {
  const name = guest.slice(1);
  const isName = guest.startsWith('/') && name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);
  if (!isName) throw new PaddockError(toolError('invalid-argument', `cannot mount \`${guest}\`: a guest path is \`/\` and one name`));
  if (taken.has(guest)) throw new PaddockError(toolError('invalid-argument', `cannot mount \`${guest}\`: that guest path is taken`));
  taken.add(guest);
  return guest;
}

/** @param {string} name @param {Set<string>} taken Numbered where another root has it already. */
function freeName(name, taken) {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name}-${number}`;
  taken.add(free);
  return free;
}

/**
 * Refuses a directory to which a link inside a root leads out of it: what is in a root must not say what else is one.
 *
 * @param {Mount[]} mounts
 * @param {string} path
 */
function checkWay(mounts, path) {
  const way = trail(path);
  const root = mounts.find(({ host }) => !isBelow(way.end, host) && way.links.some((link) => isBelow(link, host)));
  if (!root) return;
  const cause = `a symbolic link in the root \`${root.host}\` leads out of it`;
  throw new PaddockError(toolError('outside-workspace', `cannot open the root \`${path}\`: ${cause}`, `if that is meant, name \`${way.end}\``));
}

/**
 * Of two roots that are one directory, neither may do more than the other; in a read-only workspace, none may change anything.
 *
 * @param {Mount[]} mounts
 * @param {boolean} readOnly
 */
function settleRights(mounts, readOnly) {
  const narrow = new Set(mounts.filter(({ access }) => access === 'read-only').map(({ host }) => host));
  for (const mount of mounts) if (readOnly || narrow.has(mount.host)) mount.access = 'read-only';
}

/**
 * Where a path leads, as far as it exists, and the links on the way.
 *
 * @param {string} path
 */
export function trail(path) {
  /** @type {string[]} */
  const links = [];
  const ahead = resolve(path).split(sep);
  let end = ahead.shift() + sep;
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      end = dirname(end);
      continue;
    }
    const next = join(end, name);
    if (links.length < MAX_LINKS && lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink()) {
      const target = readlinkSync(next);
      links.push(next);
      if (isAbsolute(target)) end = sep;
      ahead.unshift(...target.split(sep));
    } else {
      end = next;
    }
  }
  return { links, end };
}

/** @param {string} path @param {string} directory Whether it is the directory or something in it. */
export function isBelow(path, directory) {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}
