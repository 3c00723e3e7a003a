/** A workspace in memory. It uses no disk, and exists as long as its object. */

import { ApprovalSigner } from '../approval_signer.js';
import { Pool } from '../pool.js';
import { environment, hostLimits, settings } from '../policy.js';
import { Workspace } from '../workspace.js';
import { fromDirectory, toDirectory } from './opfs.js';
import { fromTar, toTar } from './tar.js';
import { fromZip, toZip } from './zip.js';

/**
 * Options of a workspace in memory.
 *
 * @typedef {object} MemoryOptions
 * @property {import('../policy.js').Policy} [policy] The policy.
 * @property {import('../policy.js').Limits} [limits] Limits, which override those of the policy.
 * @property {boolean} [readOnly] Refuse changes.
 * @property {string} [dialect] Dialect of calls that name none.
 * @property {import('../approval_signer.js').Approver} [approver] Approver of calls that need approval.
 * @property {boolean} [thread] Make calls on a worker thread, so that they can be ended. Default: true.
 */

/** @typedef {import('./tar.js').Tree} Tree */

/** @typedef {(modules: import('../guest.js').Modules, setup: import('./host.js').MemorySetup, inThread: boolean) => import('../pool.js').Thread} Spawn */

export class MemoryWorkspace extends Workspace {
  #maxBytes;

  /**
   * @param {import('../workspace.js').Parts} parts
   * @param {number} maxBytes Maximum size of all files together, in bytes.
   */
  constructor(parts, maxBytes) {
    super(parts);
    this.#maxBytes = maxBytes;
  }

  /**
   * @param {MemoryOptions} options
   * @param {import('../modules.js').LoadModules} load
   * @param {Spawn} spawn
   */
  static async create(options, load, spawn) {
    const { policy = {}, limits = {}, readOnly = false, dialect, approver, thread = true } = options;
    const set = settings(policy, limits, readOnly);
    const { timeMs, memory, tree } = hostLimits(set);
    const modules = await load(memory);
    const signer = new ApprovalSigner();
    const setup = { policy: environment(set, 'memory', [], { carries_modes: true, approval_key: signer.key }) };
    const pool = new Pool(() => spawn(modules, setup, thread), 1, true);
    const workspace = new MemoryWorkspace({ pool, signer, timeMs, dialect, approver }, tree);
    await workspace.stat({ path: '.', brief: true });
    return workspace;
  }

  /**
   * Replaces the whole tree by these files: texts or bytes by their paths, or null for a directory. The tree is
   * unchanged on failure.
   *
   * @param {Tree} tree
   * /
   */
  async load(tree) {
    await this.loadTar(await toTar(tree));
  }

  /**
   * Returns all files with their bytes, links, and null for each empty directory, by their paths.
   *
   * @returns {Promise<import('./zip.js').SavedTree>}
   * /
   */
  async save() {
    return fromTar(await this.saveTar());
  }

  /**
   * Replaces the whole tree by the content of a ZIP archive.
   *
   * @param {Uint8Array} archive
   * /
   */
  async loadZip(archive) {
    await this.load(fromZip(archive, this.#maxBytes));
  }

  /**
   * Returns the whole tree as a ZIP archive.
   *
   * @param {{skipLinks?: boolean}} [options] Leave symbolic links out, which a ZIP archive does not hold everywhere.
   * /
   */
  async saveZip(options) {
    return toZip(await this.save(), options);
  }

  /**
   * Replaces the whole tree by the content of a browser directory (`navigator.storage.getDirectory()`, or one that a
   * person chose).
   *
   * @param {FileSystemDirectoryHandle} directory
   * /
   */
  async loadDirectory(directory) {
    await this.load(await fromDirectory(directory));
  }

  /**
   * Makes a browser directory equal to the whole tree.
   *
   * @param {FileSystemDirectoryHandle} directory
   * @returns {Promise<string[]>} The symbolic links that were left out.
   * /
   */
  async saveDirectory(directory) {
    return toDirectory(directory, await this.save());
  }

  /**
   * Replaces the whole tree by the content of a tar archive.
   *
   * @param {Uint8Array} archive
   * @returns {Promise<void>}
   * /
   */
  loadTar(archive) {
    return this.invoke('session', 'load', [archive], { changing: true });
  }

  /**
   * Returns the whole tree as a tar archive, in path order.
   *
   * @returns {Promise<Uint8Array>}
   * /
   */
  saveTar() {
    return this.invoke('session', 'snapshot', [], { changing: false });
  }

  /**
   * Stores the state of the tree for `rollback`, under a name of at most 64 letters, digits, `_`, `-` and `.`.
   *
   * @param {string} name
   * @returns {Promise<void>}
   */
  checkpoint(name) {
    return this.invoke('session', 'checkpoint', [name], { changing: true });
  }

  /**
   * Returns the tree to the state of a checkpoint. All checkpoints remain.
   *
   * @param {string} name
   * @returns {Promise<void>}
   */
  rollback(name) {
    return this.invoke('session', 'rollback', [name], { changing: true });
  }

  /**
   * Returns the names of all checkpoints, in order.
   *
   * @returns {Promise<string[]>}
   */
  checkpoints() {
    return this.invoke('session', 'checkpoints', [], { changing: false });
  }
}
