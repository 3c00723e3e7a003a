/** Runs calls over directories of this machine: rights, lock and state for each, in a guest that is kept while it is sound. */

import { Guest } from '../guest.js';
import { Unprepared, perform } from '../perform.js';
import { AccessControl } from '../wasi/access_control.js';
import { Descriptor, types } from '../wasi/filesystem.js';
import { OpenFiles } from '../wasi/open_files.js';
import { directoryOf } from './held.js';
import { lock } from './lock.js';
import { Root } from './root.js';
import { STATE, hasJournal, isJournal } from './state.js';

/**
 * What a thread is given to make calls in a workspace.
 *
 * @typedef {object} DiskSetup
 * @property {import('./mounts.js').Mount[]} mounts The workspace first.
 * @property {import('../wasi/access_control.js').Guarded} guarded What is kept from guests.
 * @property {boolean} hasState Whether there is or can be a state directory.
 * @property {string} policy `PADDOCK_POLICY` for the guest.
 * @property {string} holder Names the thread that runs the host.
 */

/** The state directory at a call: none where it is not there yet, and null where it cannot be made. @typedef {import('./held.js').Held | null | undefined} FoundState */

/** @typedef {import('../perform.js').Host} Host */

/** @implements {Host} */
export class DiskHost {
  #modules;
  #setup;
  #roots;
  #accessControl;
  /** @type {FoundState} */
  #state;
  /** @type {import('../wasi/directory.js').Directory | undefined} */
  #stateDirectory;
  /** @type {Guest | undefined} */
  #guest;
  #files;
  /** @type {[Descriptor, string][]} What the call may use. */
  #preopens = [];

  /** @param {import('../guest.js').Modules} modules @param {DiskSetup} setup */
  constructor(modules, setup) {
    this.#modules = modules;
    this.#setup = setup;
    this.#roots = setup.mounts.map((mount) => new Root(mount));
    this.#accessControl = new AccessControl(setup.guarded);
    this.#files = new OpenFiles(this.#accessControl);
  }

  /** The state directory of the calls to come. @param {FoundState} state */
  set state(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#stateDirectory = state ? directoryOf(state) : undefined;
    if (state) this.#accessControl.close(state.identity);
  }

  /**
   * Makes a call. Where it needs the state directory, which has to be made first, it says so and has done nothing.
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
    if (changing && this.#setup.hasState && this.#state === undefined) throw new Unprepared();
    const state = this.#stateDirectory;
    const isLocked = state !== undefined && (changing || hasJournal(state));
    const release = isLocked ? lock(state, deadline, this.#setup.holder) : undefined;
    try {
      // A journal that another call writes after the look for one is not for a call without the lock to follow.
      const onlyLooks = this.#setup.hasState && !changing && !isLocked;
      this.#preopens = this.#roots.map((root) => [this.#preopen(root.directory(), !onlyLooks && root.access === 'read-write'), root.guest]);
      if (state) this.#preopens.push([this.#preopen(state, !onlyLooks, onlyLooks ? isJournal : undefined), STATE]);
      return body(this.guest);
    } finally {
      this.#files.closeAll();
      release?.();
    }
  }

  /** @param {import('../wasi/directory.js').Directory} directory @param {boolean} mutable @param {(name: string) => boolean} [hidden] */
  #preopen(directory, mutable, hidden) {
    return Descriptor.preopen(this.#files, directory, mutable, hidden);
  }
}
