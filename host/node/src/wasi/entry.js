/**
 * What a name stands for, found out without opening it: a device, a FIFO or a file of the kernel may act as soon as it is
 * opened. What is opened afterwards, or gets other permission bits, is that same file or directory, whatever has the name
 * by then.
 */

import { chmodSync, closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { NEVER_WAIT, O_NOFOLLOW, O_NOWAIT, O_PATH } from './flags.js';
import { same } from './identities.js';

/** @typedef {import('./directory.js').Directory} Directory */
/** @typedef {import('node:fs').BigIntStats} BigIntStats */

/**
 * What has a name in a directory. Whoever found it closes it.
 *
 * @typedef {object} Entry
 * @property {BigIntStats} stat What it was when it was found.
 * @property {string} itself The path by which the system reaches it.
 * @property {(flags: number) => number} open Opens it, and gives the descriptor.
 * @property {(mode: number) => void} chmod
 * @property {() => void} close
 */

/**
 * An entry by a descriptor that gives no access. Linux only.
 *
 * @implements {Entry}
 */
export class DescriptorEntry {
  #fd;

  /** @param {string} path A directory's path that stays what it is, and a name. */
  constructor(path) {
    this.#fd = openSync(path, O_PATH | O_NOFOLLOW);
    this.itself = `/proc/self/fd/${this.#fd}`;
    try {
      this.stat = fstatSync(this.#fd, { bigint: true });
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** @param {number} flags */
  open(flags) {
    return openSync(this.itself, flags | O_NOWAIT);
  }

  /** Its bits may forbid opening it, which this does not. @param {number} mode */
  chmod(mode) {
    chmodSync(this.itself, mode);
  }

  close() {
    closeSync(this.#fd);
  }
}

/**
 * An entry by its path and identity, for systems without `/proc/self/fd`.
 *
 * @implements {Entry}
 */
export class PathEntry {
  #directory;

  /** @param {Directory} directory @param {string} name */
  constructor(directory, name) {
    this.#directory = directory;
    this.itself = directory.entry(name);
    this.stat = lstatSync(this.itself, { bigint: true });
    directory.verify();
  }

  /** Fails where something else has its place by now. @param {number} flags */
  open(flags) {
    const fd = openSync(this.itself, flags | NEVER_WAIT);
    try {
      this.#directory.verify();
      if (!same(fstatSync(fd, { bigint: true }), this.stat)) throw 'no-entry';
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** @param {number} mode */
  chmod(mode) {
    const fd = this.open(constants.O_RDONLY);
    try {
      fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
  }

  close() {}
}
