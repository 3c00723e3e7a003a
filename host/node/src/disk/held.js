/**
 * Directories that the main thread holds open for a workspace. Each is opened once. All threads of the process use the
 * same descriptor, so none of them looks the directory up by its path.
 */

import { closeSync, fstatSync, openSync } from 'node:fs';
import { DescriptorDirectory, PathDirectory } from '../wasi/directory.js';
import { DIRECTORY } from '../wasi/flags.js';
import { same } from '../wasi/identities.js';

/** @typedef {import('../wasi/directory.js').Directory} Directory */
/** @typedef {import('../wasi/identities.js').Identity} Identity */

/**
 * A held directory, as data that can be sent to a thread.
 *
 * @typedef {object} Held
 * @property {number} [fd] Its descriptor. Without one, the directory is reached by its path, as long as the path leads to the same identity.
 * @property {string} path Its path without links when it was opened.
 * @property {Identity} identity
 */

/** The descriptors of a workspace, which stay open until their last user has ended. */
export class Holder {
  /** @type {Set<number>} */
  #fds = new Set();
  #users = 0;
  /** @type {() => void} */
  #release = () => {};
  /** Settles when all descriptors are closed. @type {Promise<void>} */
  closed = new Promise((resolve) => {
    this.#release = resolve;
  });

  /**
   * Keeps an open directory open.
   *
   * @param {Directory} directory
   * @param {string} path
   * @returns {Held}
   */
  hold(directory, path) {
    const { identity } = directory;
    if (directory instanceof DescriptorDirectory) {
      this.#fds.add(directory.fd);
      return { fd: directory.fd, path, identity };
    }
    this.#pin(path, identity);
    return { path, identity };
  }

  /** Adds a user. @returns {() => void} Ends the use; a second call has no effect. */
  use() {
    this.#users += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#users -= 1;
      if (this.#users === 0) this.#close();
    };
  }

  /** Holds a directory open that is reached by its path, so that no other directory gets its inode number. @param {string} path @param {Identity} identity */
  #pin(path, identity) {
    try {
      const fd = openSync(path, DIRECTORY);
      if (same(fstatSync(fd, { bigint: true }), identity)) this.#fds.add(fd);
      else closeSync(fd);
    } catch {
      // Not every system can open directories. The identity at the path is compared before each use in any case.
    }
  }

  #close() {
    for (const fd of this.#fds) closeSync(fd);
    this.#fds.clear();
    this.#release();
  }
}

/** Opens the directory in any thread. @param {Held} held @returns {Directory} */
export function directoryOf({ fd, path, identity }) {
  return fd === undefined ? new PathDirectory(path, identity) : new DescriptorDirectory(fd, identity);
}
