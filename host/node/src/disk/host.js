/** Runs calls over directories of this machine, each with its rights, lock and state. The guest is reused until it fails. */

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
 * Configuration of a thread that makes calls in a workspace.
 *
 * @typedef {object} DiskSetup
 * @property {import('./mounts.js').Mount[]} mounts The workspace first.
 * @property {import('../wasi/access_control.js').Guarded} guarded Directories and file systems that are closed to guests.
 * @property {boolean} hasState Whether a state directory exists or can be created.
 * @property {string} policy `PADDOCK_POLICY` for the guest.
 * @property {string} holder Names the thread that runs the host.
 */

/** The state directory of a call: undefined if it does not exist yet, null if it cannot be created. @typedef {import('./held.js').Held | null | undefined} FoundState */

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
  /** @type {[Descriptor, string][]} Preopened directories of the call. */
  #preopens = [];

  /** @param {import('../guest.js').Modules} modules @param {DiskSetup} setup */
  constructor(modules, setup) {
    this.#modules = modules;
    this.#setup = setup;
    this.#roots = setup.mounts.map((mount) => new Root(mount));
    this.#accessControl = new AccessControl(setup.guarded);
    this.#files = new OpenFiles(this.#accessControl, setup.mounts.flatMap(({ host, aliases }) => [host, ...aliases]));
  }

  /** Sets the state directory of later calls. @param {FoundState} state */
  set state(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#stateDirectory = state ? directoryOf(state) : undefined;
    if (state) this.#accessControl.close(state.identity);
  }

  /**
   * Makes a call. If the call needs a state directory that has to be created first, it returns this and has no effect.
   *
   * @param {import('../perform.js').Job} job
   */
  run(job) {
    return perform(this, job);
  }

  /** Returns the guest, for functions that need no directory. */
  get guest() {
    this.#guest ??= new Guest(this.#modules, [['PADDOCK_POLICY', this.#setup.policy]], {
      types,
      // A guest owns its handles, so each call gets new handles of the directories that stay open.
      getDirectories: () => this.#preopens,
    });
    return this.#guest;
  }

  /** Discards the guest; the next call gets a new one. */
  discard() {
    this.#guest = undefined;
  }

  /**
   * Calls `body` with the guest of a call, and holds the lock if the call changes files or recovers from a crash.
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
      // Without the lock, a call must not follow a journal that another call has written since the check.
      const onlyReads = this.#setup.hasState && !changing && !isLocked;
      this.#preopens = this.#roots.map((root) => [this.#preopen(root.directory(), !onlyReads && root.access === 'read-write'), root.guest]);
      if (state) this.#preopens.push([this.#preopen(state, !onlyReads, onlyReads ? isJournal : undefined), STATE]);
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
