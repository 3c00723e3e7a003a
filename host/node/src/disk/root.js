/** A directory that a guest gets, held open by the thread that runs the guest. */

import { lstatSync } from 'node:fs';
import { toolError } from '../errors.js';
import { DescriptorDirectory, HAS_PROC, PathDirectory, same } from '../wasi/directory.js';

/**
 * A directory and its guest path.
 *
 * @typedef {object} Mount
 * @property {string} host Its absolute path, without links.
 * @property {string} guest
 * @property {'read-only' | 'read-write'} access
 */

export class Root {
  /** @type {import('../wasi/directory.js').Directory | undefined} */
  #opened;
  /** @type {import('node:fs').BigIntStats | undefined} */
  #identity;

  /**
   * @param {Mount} mount
   * @param {boolean} byDescriptor Whether names are reached through descriptors, where the system can.
   */
  constructor(mount, byDescriptor = true) {
    this.mount = mount;
    this.kind = byDescriptor && HAS_PROC ? DescriptorDirectory : PathDirectory;
  }

  /** The directory that has the path now: opened again, without following a link, where another one was put there. */
  directory() {
    const { host, guest } = this.mount;
    try {
      const now = lstatSync(host, { bigint: true });
      if (this.#identity && !same(now, this.#identity)) this.close();
      if (!this.#opened) {
        this.#opened = this.kind.root(host);
        this.#identity = this.#opened.stat();
      }
      return this.#opened;
    } catch (cause) {
      this.close();
      const hint = 'the directory was there when the workspace was opened; the person who runs this has to bring it back';
      throw toolError('backend-gone', `cannot open the root \`${guest}\`: ${reason(cause)}`, hint);
    }
  }

  close() {
    this.#opened?.close();
    this.#opened = undefined;
    this.#identity = undefined;
  }
}

/** @param {any} cause */
function reason(cause) {
  return cause?.code ?? cause?.message ?? String(cause);
}
