/** Paddock in Node: workspaces over directories of this machine, and in memory. */

import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { ApprovalSigner } from './approval_signer.js';
import { Directories } from './disk/directories.js';
import { loadModules, needsModes, starter } from './disk/modules.js';
import { Walk } from './disk/walk.js';
import { MemoryWorkspace } from './memory/workspace.js';
import { environment, hostLimits, settings } from './policy.js';
import { Pool } from './pool.js';
import { Workspace as AnyWorkspace } from './workspace.js';

export { PaddockError } from './errors.js';
export { unwrap } from './outcome.js';
export { MemoryWorkspace };

/**
 * Options of a workspace.
 *
 * @typedef {object} Options
 * @property {import('./disk/mounts.js').RootOption[]} [roots] Further roots, which tools see as `/` and their name.
 * @property {import('./policy.js').Policy} [policy] The policy.
 * @property {import('./policy.js').Limits} [limits] Limits, which override those of the policy.
 * @property {boolean} [readOnly] Refuse changes in every root.
 * @property {string} [dialect] Dialect of calls that name none. Default: `paddock`.
 * @property {import('./approval_signer.js').Approver} [approver] Approver of calls that need approval.
 * @property {string | false} [stateDir] Directory of journals and backups. Default: below the user's state directory.
 *   With `false`, they are in `.paddock/` in the workspace, without a lock: only one process may then change it.
 * @property {'refuse' | 'ignore'} [projectPolicy] Behaviour if the workspace has a policy file
 *   (`.paddock.yaml` or another of its names), which this host does not read: fail, or ignore the file. Default: `ignore`.
 * @property {number} [threads] Maximum number of concurrent calls. Default: 2.
 * @property {boolean} [thread] Make calls on worker threads, so that they can be ended. Otherwise a call blocks
 *   this thread and saves a round trip, and neither a time limit nor a signal ends it. Default: true.
 * @property {boolean} [byPath] Reach files as on a system without `/proc/self/fd`, for tests.
 */

/** Time for which one call updates the index. Other calls wait for it. */
const INDEX_PART_MS = 100n;

/** Time between two parts of an update. */
const INDEX_PAUSE_MS = 20;

/** Directories, rules and limits for tool calls. */
export class Workspace extends AnyWorkspace {
  /**
   * Opens the workspace at `directory`. Throws a `PaddockError` on failure.
   *
   * @param {string} directory
   * @param {Options} [options]
   */
  static async open(directory, options = {}) {
    const { policy = {}, limits = {}, readOnly = false, dialect, approver, roots = [], thread: inThread = true } = options;
    const set = settings(policy, limits, readOnly);
    const { timeMs, memory } = hostLimits(set);
    const [modules, start] = [await loadModules(memory), await starter(inThread)];
    const signer = new ApprovalSigner();
    const { stateDir, projectPolicy, byPath } = options;
    const directories = new Directories({ directory, roots, policy: set, stateDir, projectPolicy, byPath });
    const guestPolicy = policyOfGuests(set, directories, modules, signer);
    const pool = new Pool(spawner(start, modules, directories, guestPolicy), inThread ? (options.threads ?? 2) : 1);
    const workspace = new Workspace({ pool, signer, timeMs, dialect, approver, directories });
    try {
      await workspace.stat({ path: '.', brief: true });
      return workspace;
    } catch (cause) {
      workspace.close();
      throw cause;
    }
  }

  /**
   * Adds the files that a search reads to the search index in the state directory, for about `timeMs` milliseconds. Other
   * calls run in between. Results of searches are the same with and without the index.
   *
   * Does nothing without a state directory, if the policy disables the index, and on systems other than Linux and file
   * systems that do not record every change of a file.
   *
   * @param {{timeMs?: number}} [options]
   * @returns {Promise<{added: number, unsettled: number, isComplete: boolean}>} The number of files that were added, the
   *   number of files that were not because they were changed in the time `index.min_age_seconds` of the policy, and whether all files were
   *   visited, and small parts of the index merged.
   */
  async updateIndex({ timeMs = Infinity } = {}) {
    const deadline = performance.now() + timeMs;
    const update = { added: 0, unsettled: 0, isComplete: false };
    for (let start; !update.isComplete && performance.now() < deadline; ) {
      const part = await this.invoke('index', 'update', [start, INDEX_PART_MS], { changing: true });
      update.added += Number(part.added);
      update.unsettled += Number(part.unsettled);
      start = part.next;
      update.isComplete = start === undefined;
      // A call of another process that waits for the lock of the workspace takes it.
      if (!update.isComplete) await setTimeout(INDEX_PAUSE_MS);
    }
    return update;
  }

  /**
   * Creates an empty workspace in memory, which uses no disk.
   *
   * @param {import('./memory/workspace.js').MemoryOptions} [options]
   */
  static async memory(options = {}) {
    const start = await starter(options.thread ?? true);
    return MemoryWorkspace.create(options, loadModules, (modules, memory) => start({ modules, memory }));
  }
}

/**
 * Returns the tools of a dialect, always in the same order.
 *
 * @template {import('./formats.js').Format} [F='plain']
 * @param {{dialect?: string, format?: F}} [options]
 */
export async function tools(options) {
  return (await bare()).tools(options);
}

/** Returns the names of all dialects. */
export async function dialects() {
  return (await bare()).dialects();
}

/** @type {Promise<MemoryWorkspace> | undefined} */
let bareWorkspace;

/** Returns a workspace without a directory, which is enough to list tools. */
function bare() {
  bareWorkspace ??= Workspace.memory({ thread: false });
  return bareWorkspace;
}

/**
 * Returns the function that starts hosts. It does not refer to the workspace, which can be collected while threads exist.
 *
 * @param {Awaited<ReturnType<typeof starter>>} start
 * @param {import('./guest.js').Modules} modules
 * @param {Directories} directories
 * @param {string} policy
 */
function spawner(start, modules, directories, policy) {
  const { mounts, guarded, state } = directories;
  const setup = { mounts, guarded, hasState: state !== undefined, policy };
  return () => start({ modules, disk: { ...setup, holder: `${process.pid}.${threadId}.${randomUUID()}` }, directories });
}

/**
 * Returns `PADDOCK_POLICY` for guests in these directories.
 *
 * @param {import('./policy.js').Policy} settings
 * @param {Directories} directories
 * @param {import('./guest.js').Modules} modules
 * @param {ApprovalSigner} signer
 */
function policyOfGuests(settings, { mounts, ownPaths }, modules, signer) {
  const hasModes = process.platform !== 'win32';
  const foldsNames = process.platform === 'darwin' || process.platform === 'win32';
  const host = { carries_modes: hasModes, has_stamps: true, ...(foldsNames && { names: 'folded' }), approval_key: signer.key, ...ownPaths, ...(hasModes && needsModes(modules) && { keeps_modes: true }) };
  return environment(withoutLinks(settings), 'wasi', mounts, host);
}

/**
 * Returns the policy with the real paths of absolute blocked paths added, because the guest compares them with the roots' real paths.
 *
 * @param {import('./policy.js').Policy} policy
 */
function withoutLinks(policy) {
  const { blocked_directories: blocked } = policy;
  if (!Array.isArray(blocked)) return policy;
  const ends = blocked.filter((path) => typeof path === 'string' && path.startsWith('/')).map(withoutLink);
  return { ...policy, blocked_directories: [...new Set([...blocked, ...ends])] };
}

/** @param {string} path Returned unchanged if it cannot be followed. */
function withoutLink(path) {
  try {
    const walk = new Walk(path);
    walk.close();
    return walk.path;
  } catch {
    return path;
  }
}
