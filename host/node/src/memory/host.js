/**
 * Runs calls over a tree in the guest's own memory. The guest is reused for all calls, and the tree is lost when it
 * ends.
 */

import { toolError } from '../errors.js';
import { Guest } from '../guest.js';
import { perform } from '../perform.js';
import { noFiles } from '../wasi/no_files.js';

/** @typedef {{policy: string}} MemorySetup `PADDOCK_POLICY` for the guest. */

/** @typedef {import('../perform.js').Host} Host */

/** @implements {Host} */
export class MemoryHost {
  /** @type {Guest | undefined} */
  #guest;

  /** @param {import('../guest.js').Modules} modules @param {MemorySetup} setup */
  constructor(modules, { policy }) {
    this.#guest = new Guest(modules, [['PADDOCK_POLICY', policy]], noFiles);
  }

  /** @param {import('../perform.js').Job} job */
  run(job) {
    return perform(this, job);
  }

  get guest() {
    if (this.#guest) return this.#guest;
    const hint = 'the person who runs this has to make a new one from its last snapshot';
    throw toolError('backend-gone', 'the workspace in memory was lost with a call that was ended', hint);
  }

  close() {
    this.discard();
  }

  discard() {
    this.#guest = undefined;
  }

  /**
   * @template T
   * @param {boolean} _changing
   * @param {number} _deadline
   * @param {(guest: Guest) => T} body
   */
  with(_changing, _deadline, body) {
    return body(this.guest);
  }
}
