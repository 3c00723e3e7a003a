/** Access control for guests: decides by the identity of a file or directory, and not by its name. */

import { lstatSync } from 'node:fs';
import { isOfKernel } from './kernel_files.js';
import { IdentityMap, IdentitySet } from './identities.js';

/** @typedef {import('./directory.js').Directory} Directory */
/** @typedef {import('./identities.js').Identity} Identity */

/**
 * Files that are closed to the guests of a workspace, as data that can be sent to a thread.
 *
 * @typedef {object} Guarded
 * @property {Identity[]} closed Paddock's own directories: never opened, moved, removed or replaced.
 * @property {Identity[]} pinned Roots, directories above a root or a closed directory, and links on the way to it: never moved,
 *   removed or replaced.
 * @property {Identity[]} readOnly Read-only roots, by whichever root they are reached.
 * @property {Reserved[]} reserved
 */

/**
 * Path of a closed entry, from an existing directory. The last name is never opened, created or moved, whether it exists
 * or not. The names before it can be created as directories, and cannot be moved.
 *
 * @typedef {{holder: Identity, names: string[]}} Reserved
 */

/** Names below a directory, folded; undefined for a name that is closed. @typedef {Map<string, Names | undefined>} Names */

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

  /** Closes a directory that was created later. @param {Identity} identity */
  close(identity) {
    this.#closed.add(identity);
  }

  /** Refuses to open or create a closed name, whether it exists or not. @param {Directory} dir @param {string} name */
  checkName(dir, name) {
    const names = this.#names(dir);
    if (names?.has(fold(name)) && !names.get(fold(name))) throw 'not-permitted';
  }

  /**
   * Refuses to open an entry that is closed, or that is in a file system of the kernel.
   *
   * @param {Directory} dir
   * @param {string} name
   * @param {import('./entry.js').Entry} entry
   */
  checkExisting(dir, name, { stat, itself }) {
    if (this.#closed.has(stat)) throw 'not-permitted';
    if (stat.dev !== dir.identity.dev && isOfKernel(itself)) throw 'not-permitted';
    const below = this.#names(dir)?.get(fold(name));
    if (below) this.#learn(stat, below);
  }

  /** Returns whether an open directory is read-only. @param {Identity} opened */
  isReadOnly(opened) {
    return this.#readOnly.has(opened);
  }

  /** Refuses to create an entry other than a directory at a reserved name. @param {Directory} dir @param {string} name */
  checkNew(dir, name) {
    if (this.#names(dir)?.has(fold(name))) throw 'not-permitted';
  }

  /** Refuses to move, remove or replace a pinned entry. @param {Directory} dir @param {string} name */
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
    let namesOfDirectory = this.#namesOf(holder);
    for (const [index, name] of names.map(fold).entries()) {
      const isLast = index === names.length - 1;
      if (namesOfDirectory.has(name) && !namesOfDirectory.get(name)) return;
      /** @type {Names | undefined} */
      const next = isLast ? undefined : (namesOfDirectory.get(name) ?? new Map());
      namesOfDirectory.set(name, next);
      if (next) namesOfDirectory = next;
    }
  }

  /** Records the reserved names below a directory that was created at a reserved name, by its identity. @param {Identity} opened @param {Names} below */
  #learn(opened, below) {
    this.#pinned.add(opened);
    const namesOfDirectory = this.#namesOf(opened);
    for (const [name, names] of below) if (!namesOfDirectory.has(name)) namesOfDirectory.set(name, names);
  }

  /** @param {Identity} holder */
  #namesOf(holder) {
    /** @type {Names} */
    const namesOfDirectory = this.#reserved.get(holder) ?? new Map();
    this.#reserved.set(holder, namesOfDirectory);
    return namesOfDirectory;
  }
}

/** Characters that HFS+ ignores in a name, and endings that NTFS ignores or takes as the name of a stream. */
const IGNORED = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]|:.*$|[. ]+$/gsu;

/** Folds a name, for file systems that treat several spellings as one name. @param {string} name */
function fold(name) {
  return name.replace(IGNORED, '').normalize('NFKC').toUpperCase().toLowerCase();
}
