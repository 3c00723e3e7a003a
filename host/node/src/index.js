/** Paddock in Node: workspaces over directories of this machine, and in memory. */

import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { Desk } from './desk.js';
import { loadModules, starter } from './disk/modules.js';
import { isBelow, mounts, trail } from './disk/mounts.js';
import { stateDirectory, stateParent } from './disk/state.js';
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
    const all = mounts({ path: directory }, roots, set);
    const { timeMs, memory } = hostLimits(set);
    const [modules, start] = [await loadModules(memory), await starter(inThread)];
    const desk = new Desk();
    const state = all.some(({ access }) => access === 'read-write') ? stateDirectory(all[0].host, options.stateDir) : undefined;
    const host = { carries_modes: process.platform !== 'win32', approval_key: desk.key, ...ownFiles(all, state) };
    const setup = { mounts: all, state, policy: environment(withoutLinks(set), 'wasi', all, host), byPath: options.byPath };
    const spawn = () => {
      const holder = `${process.pid}.${threadId}.${randomUUID()}`;
      return start({ modules, disk: { ...setup, holder } });
    };
    const pool = new Pool(spawn, inThread ? (options.threads ?? 2) : 1);
    const workspace = new Workspace({ pool, desk, timeMs, dialect, approver });
    await workspace.stat({ path: '.', brief: true });
    return workspace;
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

/** Where a system shows its processes, this one's memory among them, and itself: no files that a tool could want. */
const OF_THE_KERNEL = process.platform === 'linux' ? ['/proc', '/sys'] : [];

/**
 * The host's own files that a root holds: kept from every tool, and the links on the way to them from being changed.
 *
 * @param {import('./disk/root.js').Mount[]} mounts
 * @param {string | undefined} state
 */
function ownFiles(mounts, state) {
  const config = join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'paddock');
  const ways = [...(state === undefined ? [] : [state]), stateParent(), config, ...OF_THE_KERNEL].map(trail);
  const inside = (/** @type {string} */ path) => mounts.some(({ host }) => isBelow(path, host));
  return { private: ways.map(({ end }) => end).filter(inside), fixed: ways.flatMap(({ links }) => links).filter(inside) };
}

/**
 * The policy with absolute blocked paths as they are without links too, since the guest compares them with the roots' own.
 *
 * @param {import('./policy.js').Policy} policy
 */
function withoutLinks(policy) {
  const { blocked_directories: blocked } = policy;
  if (!Array.isArray(blocked)) return policy;
  const ends = blocked.filter((path) => typeof path === 'string' && path.startsWith('/')).map((path) => trail(path).end);
  return { ...policy, blocked_directories: [...new Set([...blocked, ...ends])] };
}
