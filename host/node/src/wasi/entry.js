/**
 * Entries that are examined without opening them, because opening a device, a FIFO or a file of the kernel can have an
 * effect. A later open or change of permission bits applies to the examined file or directory, whatever has its name
 * by then.
 */

import { chmodSync, closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { NEVER_WAIT, O_NOFOLLOW, O_NOWAIT, O_PATH } from './flags.js';
import { same } from './identities.js';

/** @typedef {import('./directory.js').Directory} Directory */
/** @typedef {import('node:fs').BigIntStats} BigIntStats */

/**
 * An examined entry of a directory. The caller that found it closes it.
 *
 * @typedef {object} Entry
 * @property {BigIntStats} stat Its state when it was found.
 * @property {string} itself The path by which the system reaches it.
 * @property {(flags: number) => number} open Opens it and returns the descriptor.
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

  /** @param {string} path Path of a directory that cannot be exchanged, and a name. */
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

  /** Sets the permission bits without opening the entry, which its present bits can forbid. @param {number} mode */
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

  /** Opens the entry. Fails if another entry now has its path. @param {number} flags */
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
