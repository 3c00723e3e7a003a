/** The state directory, which holds journals and backups outside the workspace. */

import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { toolError } from '../errors.js';
import { stateParents } from './own.js';

/** The guest path of the state directory. */
export const STATE = '/paddock-state';

/** Returns whether a name is that of a journal or overlay commit that a later call has to finish, also for other roots. @param {string} name */
export function isJournal(name) {
  return /^(journal|commit)/.test(name) && !name.endsWith('.refused');
}

/** @typedef {import('../wasi/directory.js').Directory} Directory */
/** @typedef {import('./held.js').Held} Held */

/**
 * Returns the path of a workspace's state directory, or nothing if the caller wants none.
 *
 * @param {string} root The workspace's path without links.
 * @param {string | false} [wanted]
 */
export function statePath(root, wanted) {
  if (wanted === false) return undefined;
  if (wanted !== undefined) return wanted;
  return join(stateParents()[0], createHash('sha256').update(root).digest('hex').slice(0, 16));
}

/** The state directory of a workspace, created at the first change and held from then on. For the main thread. */
export class StateDirectory {
  /** @type {import('./held.js').Holder} */
  #holder;
  /** The state directory, or the deepest existing directory above it. */
  #above;
  /** The names from that directory to the state directory. */
  #names;
  /** @type {Held | undefined} */
  #held;
  /** @type {Directory | undefined} */
  #directory;
  #path;

  /**
   * @param {import('./walk.js').Walk} walk The path of the directory, which may not exist yet.
   * @param {import('./held.js').Holder} holder
   */
  constructor(walk, holder) {
    this.#holder = holder;
    this.#path = walk.path;
    const isThere = walk.missing.length === 0;
    // The parent directory is held too: if the state directory is deleted, it is created there again.
    this.#above = walk.take(isThere ? walk.holder : walk.directory);
    this.#names = isThere ? [basename(this.#path)] : walk.missing;
    holder.hold(this.#above, isThere ? dirname(this.#path) : walk.directoryPath);
    if (isThere) this.#keep(walk.openEnd());
  }

  /** Returns the state directory if it exists. @returns {Held | undefined} */
  find() {
    if (this.#held) return this.#directory?.isGone() ? undefined : this.#held;
    return this.#descend(false);
  }

  /**
   * Returns the state directory, and creates it for its owner alone if necessary. Returns nothing if this process may not
   * create it. Fails if it was deleted and another entry has its name, or if its parent was deleted.
   *
   * @returns {Held | undefined}
   */
  make() {
    return this.find() ?? this.#descend(true);
  }

  /** @param {boolean} making @returns {Held | undefined} */
  #descend(making) {
    const passed = [this.#above];
    const close = () => passed.slice(1).forEach((directory) => directory.close());
    try {
      for (const [index, name] of this.#names.entries()) {
        const directory = passed[index];
        if (making) this.#makeOne(directory, name, index === this.#names.length - 1);
        else if (!lstatSync(directory.entry(name), { throwIfNoEntry: false })) break;
        passed.push(directory.open(name));
      }
    } catch (cause) {
      close();
      return making ? refused(cause) : undefined;
    }
    if (passed.length > this.#names.length) return this.#settle(passed);
    close();
    return undefined;
  }

  /** @param {Directory[]} passed From the directory above to the state directory. */
  #settle(passed) {
    passed.slice(1, -2).forEach((directory) => directory.close());
    const [above, directory] = passed.slice(-2);
    if (above !== this.#above) this.#holder.hold(above, dirname(this.#path));
    this.#above = above;
    this.#names = this.#names.slice(-1);
    return this.#keep(directory);
  }

  /** @param {Directory} directory */
  #keep(directory) {
    this.#directory = directory;
    this.#held = this.#holder.hold(directory, this.#path);
    return this.#held;
  }

  /** @param {Directory} directory @param {string} name @param {boolean} isLast */
  #makeOne(directory, name, isLast) {
    try {
      mkdirSync(directory.entry(name), { mode: 0o700 });
    } catch (cause) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (cause);
      if (code !== 'EEXIST') throw cause;
      if (this.#held && isLast) throw gone('it was deleted, and something else has its name');
    }
  }
}

/** Throws every cause except that this process may not create the state directory. @param {any} cause @returns {undefined} */
function refused(cause) {
  if (cause?.code === 'backend-gone') throw cause;
  const code = cause?.code ?? cause;
  if (code === 'ENOENT' || code === 'no-entry') throw gone('the directory that held it was deleted');
  if (['ELOOP', 'ENOTDIR', 'loop', 'not-directory'].includes(code)) throw gone('something else is at its path');
}

/** @param {string} cause */
function gone(cause) {
  const hint = 'no call can change anything any more; the person who runs this has to open the workspace again';
  return toolError('backend-gone', `cannot make the state directory: ${cause}`, hint);
}

/** Returns whether an interrupted call left a journal, which the next call finishes or undoes. @param {Directory} directory */
export function hasJournal(directory) {
  return directory.list().some(({ name }) => isJournal(name));
}
