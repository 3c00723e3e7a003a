/** Runs jobs of a workspace on a thread, one at a time, in a guest of its host. */

import { toolError } from './errors.js';
import { Trap } from './guest.js';

/**
 * A call of a tool, or of a function of an interface.
 *
 * @typedef {object} Job
 * @property {string} [dialect] Dialect of a tool call; together with `tool` and `args`, a JSON text.
 * @property {string} [tool]
 * @property {string} [interface] Interface of a function call; together with `function` and `args`, a list.
 * @property {string} [function]
 * @property {any} [args]
 * @property {boolean} [changing] Whether a function call may change files.
 * @property {number} timeMs Time limit in milliseconds.
 * @property {Decision} [decision] The decision about the call.
 */

/** @typedef {import('../component/interfaces/paddock-files-approval.js').Decision} Decision */
/** @typedef {import('./outcome.js').Plan} Plan */

/**
 * Result of a job: an outcome, the value of a function, or an error.
 *
 * @typedef {object} JobResult
 * @property {import('./outcome.js').ToolOutcome} [outcome]
 * @property {any} [value]
 * @property {import('./errors.js').ToolError} [error]
 * @property {Plan} [plan] The plan that needs approval.
 * @property {boolean} [isUnprepared] Whether nothing was done because the state directory has to be created first.
 */

/** Thrown by a host that cannot make a call before the state directory is created. */
export class Unprepared extends Error {}

/**
 * Provides guests with the files that they work on.
 *
 * @typedef {object} Host
 * @property {import('./guest.js').Guest} guest
 * @property {() => void} discard Discards the guest after a failure.
 * @property {<T>(changing: boolean, deadline: number, body: (guest: import('./guest.js').Guest) => T) => T} with
 */

/** @type {Map<string, boolean>} */
const known = new Map();

/** Maximum number of tools in `known`. */
const MAX_KNOWN = 1_024;

/**
 * @param {Host} host
 * @param {Job} job
 * @returns {JobResult}
 */
export function perform(host, job) {
  try {
    const changing = job.tool === undefined ? job.changing === true : changes(host, job);
    return host.with(changing, performance.now() + job.timeMs, (guest) => called(guest, job));
  } catch (error) {
    if (error instanceof Unprepared) return { isUnprepared: true };
    if (!(error instanceof Trap)) return { error: asError(error) };
    host.discard();
    return { error: error.error };
  }
}

/** @param {import('./guest.js').Guest} guest @param {Job} job @returns {JobResult} */
function called(guest, job) {
  if (job.decision) guest.call('approval', 'decide', [job.decision]);
  if (job.tool !== undefined) {
    const outcome = guest.call('tools', 'call', [job.dialect, job.tool, job.args]);
    return { outcome, plan: pending(guest, outcome.error) };
  }
  try {
    return { value: guest.call(/** @type {string} */ (job.interface), /** @type {string} */ (job.function), job.args) };
  } catch (error) {
    if (error instanceof Trap) throw error;
    return { error: asError(error), plan: pending(guest, /** @type {any} */ (error)) };
  }
}

/** @param {import('./guest.js').Guest} guest @param {import('./errors.js').ToolError | undefined} error */
function pending(guest, error) {
  const plan = error?.code === 'approval-required' ? guest.call('approval', 'pending', []) : undefined;
  return plan && { ...plan, omittedBytes: Number(plan.omittedBytes) };
}

/**
 * Returns whether a tool can change anything, by its own description. An unknown tool changes nothing.
 *
 * @param {Host} host
 * @param {Job} job
 */
function changes(host, { dialect, tool }) {
  const name = `${dialect}\0${tool}`;
  const isChanging = known.get(name) ?? host.guest.call('tools', 'changes', [dialect, tool]);
  // Unknown names are not stored, because a caller could ask for any number of them.
  // Callers can combine dialects in any number of ways.
  if (isChanging !== undefined && known.size < MAX_KNOWN) known.set(name, isChanging);
  return isChanging ?? false;
}

/** @param {any} error */
function asError(error) {
  if (typeof error?.code === 'string' && typeof error.message === 'string' && !(error instanceof Error)) return error;
  return toolError('io', `the host failed: ${error?.stack ?? error}`, 'this is a defect of the tool, not of the call; report it with the arguments');
}
