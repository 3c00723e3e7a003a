/** What a guest may open, move and make, decided by what a file or directory is and not by what it is called. */

import { lstatSync } from 'node:fs';
import { isOfKernel } from './kernel_files.js';
import { IdentityMap, IdentitySet } from './identities.js';

/** @typedef {import('./directory.js').Directory} Directory */
/** @typedef {import('./identities.js').Identity} Identity */

/**
 * What a workspace keeps from its guests, as data that can be sent to a thread.
 *
 * @typedef {object} Guarded
 * @property {Identity[]} closed Paddock's own directories: never opened, moved, removed or replaced.
 * @property {Identity[]} pinned Roots, what holds a root or something closed, and links on the way to it: never moved,
 *   removed or replaced.
 * @property {Identity[]} readOnly Roots that may not be changed, by whichever root they are reached.
 * @property {Reserved[]} reserved
 */

/**
 * The path of something that is closed, from a directory that exists: the last name is never opened, made or moved,
 * whether it is there or not; those before it can be made as directories and not moved.
 *
 * @typedef {{holder: Identity, names: string[]}} Reserved
 */

/** Names below a directory, folded; undefined where nothing may be done at a name. @typedef {Map<string, Names | undefined>} Names */

/** The checks of one thread's guests. */
export class AccessControl {
  #closed;
  #pinned;
  #readOnly;
  /** By the directory that holds them. @type {IdentityMap<Names>} */
  #reserved = new IdentityMap();

  /** @param {Partial<Guarded>} [guarded] */
  constructor({ closed = [], pinned = [], readOnly = [], reserved = [] } = {}) {
    this.#closed = new IdentitySet(closed);
    this.#pinned = new IdentitySet(pinned);
    this.#readOnly = new IdentitySet(readOnly);
    for (const { holder, names } of reserved) this.#reserve(holder, names);
  }

  /** Closes a directory that was made since. @param {Identity} identity */
  close(identity) {
    this.#closed.add(identity);
  }

  /** Refuses to open a name at which something closed is or would be, or to make a directory there. @param {Directory} dir @param {string} name */
  checkName(dir, name) {
    const names = this.#names(dir);
    if (names?.has(fold(name)) && !names.get(fold(name))) throw 'not-permitted';
  }

  /**
   * Refuses to open what was found at a name where it is closed, or of a file system of the kernel.
   *
   * @param {Directory} dir
   * @param {string} name
   * @param {import('./entry.js').Entry} entry
   */
  checkFound(dir, name, { stat, itself }) {
    if (this.#closed.has(stat)) throw 'not-permitted';
    if (stat.dev !== dir.identity.dev && isOfKernel(itself)) throw 'not-permitted';
    const below = this.#names(dir)?.get(fold(name));
    if (below) this.#learn(stat, below);
  }

  /** Whether nothing may be changed in a directory that was opened. @param {Identity} opened */
  isReadOnly(opened) {
    return this.#readOnly.has(opened);
  }

  /** Refuses to make anything but a directory at a reserved name. @param {Directory} dir @param {string} name */
  checkNew(dir, name) {
    if (this.#names(dir)?.has(fold(name))) throw 'not-permitted';
  }

  /** Refuses to move, remove or replace what has to stay where it is. @param {Directory} dir @param {string} name */
  checkMovable(dir, name) {
    this.checkNew(dir, name);
    const there = lstatSync(dir.entry(name), { bigint: true, throwIfNoEntry: false });
    if (there && (this.#closed.has(there) || this.#pinned.has(there))) throw 'not-permitted';
  }

  /** @param {Directory} dir */
  #names({ identity }) {
    return this.#reserved.get(identity);
  }

  /** @param {Identity} holder @param {string[]} names */
  #reserve(holder, names) {
    let level = this.#level(holder);
    for (const [index, name] of names.map(fold).entries()) {
      const isLast = index === names.length - 1;
      if (level.has(name) && !level.get(name)) return;
      /** @type {Names | undefined} */
      const next = isLast ? undefined : (level.get(name) ?? new Map());
      level.set(name, next);
      if (next) level = next;
    }
  }

  /** Of a directory that was made at a reserved name, the names below it are known by what it is. @param {Identity} opened @param {Names} below */
  #learn(opened, below) {
    this.#pinned.add(opened);
    const level = this.#level(opened);
    for (const [name, names] of below) if (!level.has(name)) level.set(name, names);
  }

  /** @param {Identity} holder */
  #level(holder) {
    /** @type {Names} */
    const level = this.#reserved.get(holder) ?? new Map();
    this.#reserved.set(holder, level);
    return level;
  }
}

/** What HFS+ leaves out of a name, and what NTFS takes for the name of a stream, or leaves out at the end. */
const IGNORED = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]|:.*$|[. ]+$/gsu;

/** A name as file systems have it that take several spellings for one. @param {string} name */
function fold(name) {
  return name.replace(IGNORED, '').normalize('NFKC').toUpperCase().toLowerCase();
}
