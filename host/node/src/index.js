/** Paddock in Node: workspaces over directories of this machine, and in memory. */

import { randomUUID } from 'node:crypto';
import { threadId } from 'node:worker_threads';
import { Desk } from './desk.js';
import { Directories } from './disk/directories.js';
import { asksForModes, loadModules, starter } from './disk/modules.js';
import { Walk } from './disk/walk.js';
import { MemoryWorkspace } from './memory/workspace.js';
import { environment, hostLimits, settings } from './policy.js';
import { Pool } from './pool.js';
import { Workspace as AnyWorkspace } from './workspace.js';

export { PaddockError } from './errors.js';
export { unwrap } from './outcome.js';
export { MemoryWorkspace };

/**
 * What a workspace is to be.
 *
 * @typedef {object} Options
 * @property {import('./disk/mounts.js').RootOption[]} [roots] Further directories, which tools see as `/` and their name.
 * @property {import('./policy.js').Policy} [policy] What tools may do.
 * @property {import('./policy.js').Limits} [limits] Put over those of the policy.
 * @property {boolean} [readOnly] Nothing may be changed in any root.
 * @property {string} [dialect] Whose tools calls mean that name no dialect. Default: `paddock`.
 * @property {import('./desk.js').Approver} [approver] Who is asked about calls that need approval.
 * @property {string | false} [stateDir] Where to keep journals and backups. Default: below the user's state directory;
 *   with `false` in `.paddock/` inside the workspace, without a lock: for one that only one process changes.
 * @property {'refuse' | 'ignore'} [projectPolicy] What to do with a workspace that has a policy of its own
 *   (`.paddock.yaml` and its like), which this host does not read: fail, or go on as if there were none. Default: `ignore`.
 * @property {number} [threads] Calls that are made at once. Default: 2.
 * @property {boolean} [thread] Make calls in threads of their own, so that they can be ended. Without, a call blocks
 *   this thread and is quicker by the way there and back, and neither a time limit nor a signal ends it. Default: true.
 * @property {boolean} [byPath] Reach files as on a system without `/proc/self/fd`. For tests of that.
 */

/** Directories, rules and limits, in which tools are called. */
export class Workspace extends AnyWorkspace {
  /**
   * The workspace at `directory`. Throws a `PaddockError` where it cannot be.
   *
   * @param {string} directory
   * @param {Options} [options]
   */
  static async open(directory, options = {}) {
    const { policy = {}, limits = {}, readOnly = false, dialect, approver, roots = [], thread: inThread = true } = options;
    const set = settings(policy, limits, readOnly);
    const { timeMs, memory } = hostLimits(set);
    const [modules, start] = [await loadModules(memory), await starter(inThread)];
    const desk = new Desk();
    const { stateDir, projectPolicy, byPath } = options;
    const directories = new Directories({ directory, roots, policy: set, stateDir, projectPolicy, byPath });
    const told = policyOfGuests(set, directories, modules, desk);
    const pool = new Pool(spawner(start, modules, directories, told), inThread ? (options.threads ?? 2) : 1);
    const workspace = new Workspace({ pool, desk, timeMs, dialect, approver, directories });
    try {
      await workspace.stat({ path: '.', brief: true });
      return workspace;
    } catch (cause) {
      workspace.close();
      throw cause;
    }
  }

  /**
   * An empty workspace in memory, which touches no disk.
   *
   * @param {import('./memory/workspace.js').MemoryOptions} [options]
   */
  static async memory(options = {}) {
    const start = await starter(options.thread ?? true);
    return MemoryWorkspace.create(options, loadModules, (modules, memory) => start({ modules, memory }));
  }
}

/**
 * The tools of a dialect, always in the same order.
 *
 * @template {import('./formats.js').Format} [F='plain']
 * @param {{dialect?: string, format?: F}} [options]
 */
export async function tools(options) {
  return (await bare()).tools(options);
}

/** The names of all dialects. */
export async function dialects() {
  return (await bare()).dialects();
}

/** @type {Promise<MemoryWorkspace> | undefined} */
let kept;

/** A guest without a directory is enough to tell what tools there are. */
function bare() {
  kept ??= Workspace.memory({ thread: false });
  return kept;
}

/**
 * What makes hosts. It knows nothing of the workspace, which can be forgotten while threads are there.
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
 * `PADDOCK_POLICY`, for guests that work in these directories.
 *
 * @param {import('./policy.js').Policy} settings
 * @param {Directories} directories
 * @param {import('./guest.js').Modules} modules
 * @param {Desk} desk
 */
function policyOfGuests(settings, { mounts, ownPaths }, modules, desk) {
  const hasModes = process.platform !== 'win32';
  const host = { carries_modes: hasModes, approval_key: desk.key, ...ownPaths, ...(hasModes && asksForModes(modules) && { keeps_modes: true }) };
  return environment(withoutLinks(settings), 'wasi', mounts, host);
}

/**
 * The policy with absolute blocked paths as they are without links too, since the guest compares them with the roots' own.
 *
 * @param {import('./policy.js').Policy} policy
 */
function withoutLinks(policy) {
  const { blocked_directories: blocked } = policy;
  if (!Array.isArray(blocked)) return policy;
  const ends = blocked.filter((path) => typeof path === 'string' && path.startsWith('/')).map(withoutLink);
  return { ...policy, blocked_directories: [...new Set([...blocked, ...ends])] };
}

/** @param {string} path It as it is, where it cannot be followed. */
function withoutLink(path) {
  try {
    const walk = new Walk(path);
    walk.close();
    return walk.path;
  } catch {
    return path;
  }
}
