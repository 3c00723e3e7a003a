/** Runs calls over directories of this machine: rights, lock and state for each, in a guest that is kept while it is sound. */

import { Guest } from '../guest.js';
import { perform } from '../perform.js';
import { Descriptor, OpenFiles, types } from '../wasi/filesystem.js';
import { Root } from './root.js';
import { lock } from './lock.js';
import { JOURNALS, STATE, createState, hasJournal, hasState } from './state.js';

/**
 * What a thread is given to make calls in a workspace.
 *
 * @typedef {object} DiskSetup
 * @property {import('./root.js').Mount[]} mounts The workspace first.
 * @property {string} [state] The state directory.
 * @property {string} policy `PADDOCK_POLICY` for the guest.
 * @property {string} holder Names the thread that runs the host.
 * @property {boolean} [byPath] Reach names by paths, where the system could by descriptors too.
 */

/** @typedef {import('../perform.js').Host} Host */

/** @implements {Host} */
export class DiskHost {
  #modules;
  #setup;
  #roots;
  #state;
  /** @type {Guest | undefined} */
  #guest;
  #files = new OpenFiles();
  /** @type {[Descriptor, string][]} What the call may use. */
  #preopens = [];

  /** @param {import('../guest.js').Modules} modules @param {DiskSetup} setup */
  constructor(modules, setup) {
    this.#modules = modules;
    this.#setup = setup;
    this.#roots = setup.mounts.map((mount) => new Root(mount, !setup.byPath));
    const { state } = setup;
    this.#state = state === undefined ? undefined : new Root({ host: state, guest: STATE, access: 'read-write' }, !setup.byPath);
  }

  /**
   * Makes a call.
   *
   * @param {import('../perform.js').Job} job
   */
  run(job) {
    return perform(this, job);
  }

  /** The guest, for the functions that need no directory. */
  get guest() {
    this.#guest ??= new Guest(this.#modules, [['PADDOCK_POLICY', this.#setup.policy]], {
      types,
      // A guest owns what it is handed, so each time it is another handle on what stays open.
      getDirectories: () => this.#preopens,
    });
    return this.#guest;
  }

  /** Closes what it holds. */
  close() {
    for (const root of [...this.#roots, ...(this.#state ? [this.#state] : [])]) root.close();
  }

  /** The next call gets another guest. */
  discard() {
    this.#guest = undefined;
  }

  /**
   * Calls `body` with what a call gets: with the lock if it is to change something or to recover from a crash.
   *
   * @template T
   * @param {boolean} changing
   * @param {number} deadline
   * @param {(guest: Guest) => T} body
   * @returns {T}
   */
  with(changing, deadline, body) {
    const directory = this.#setup.state;
    const isThere = directory !== undefined && (changing ? createState(directory) : hasState(directory));
    const isLocked = isThere && (changing || hasJournal(directory));
    const release = isLocked ? lock(directory, deadline, this.#setup.holder) : undefined;
    try {
      // A journal that another call writes after the look for one is not for a call without the lock to follow.
      const onlyLooks = directory !== undefined && !changing && !isLocked;
      const roots = isThere && this.#state ? [...this.#roots, this.#state] : this.#roots;
      this.#preopens = roots.map((root) => {
        const mutable = !onlyLooks && root.mount.access === 'read-write';
        const hidden = onlyLooks && root === this.#state ? JOURNALS : undefined;
        return [Descriptor.preopen(this.#files, root.directory(), mutable, hidden), root.mount.guest];
      });
      return body(this.guest);
    } finally {
      this.#files.closeAll();
      release?.();
    }
  }
}
