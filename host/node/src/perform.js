/** What a thread does for the workspace: one job at a time, in a guest of its host. */

import { toolError } from './errors.js';
import { Trap } from './guest.js';

/**
 * A call of a tool, or of a function of an interface.
 *
 * @typedef {object} Job
 * @property {string} [dialect] Whose tool it is; with `tool` and `args`, a text of JSON.
 * @property {string} [tool]
 * @property {string} [interface] Of a function: with `function` and `args`, a list.
 * @property {string} [function]
 * @property {any} [args]
 * @property {boolean} [changing] Of a function: whether it may change something.
 * @property {number} timeMs How long it may take.
 * @property {Decision} [decision] What was decided of the call.
 */

/** @typedef {import('../component/interfaces/paddock-files-approval.js').Decision} Decision */
/** @typedef {import('./outcome.js').Plan} Plan */

/**
 * How a job ended: with an outcome, with a function's value, or with an error.
 *
 * @typedef {object} Done
 * @property {import('./outcome.js').Told} [told]
 * @property {any} [value]
 * @property {import('./errors.js').ToolError} [error]
 * @property {Plan} [plan] What would need approval.
 * @property {boolean} [isUnprepared] Nothing was done, since the state directory has to be made first.
 */

/** Why a host does not make a call: the state directory has to be made first. */
export class Unprepared extends Error {}

/**
 * Where guests get what they work on.
 *
 * @typedef {object} Host
 * @property {import('./guest.js').Guest} guest
 * @property {() => void} discard Gives up the guest, which failed.
 * @property {<T>(changing: boolean, deadline: number, body: (guest: import('./guest.js').Guest) => T) => T} with
 */

/** @type {Map<string, boolean>} */
const known = new Map();

/**
 * @param {Host} host
 * @param {Job} job
 * @returns {Done}
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

/** @param {import('./guest.js').Guest} guest @param {Job} job @returns {Done} */
function called(guest, job) {
  if (job.decision) guest.call('approval', 'decide', [job.decision]);
  if (job.tool !== undefined) {
    const told = guest.call('tools', 'call', [job.dialect, job.tool, job.args]);
    return { told, plan: pending(guest, told.error) };
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
  return error?.code === 'approval-required' ? guest.call('approval', 'pending', []) : undefined;
}

/**
 * Whether a tool can change something, as it says itself. One that is not known changes nothing.
 *
 * @param {Host} host
 * @param {Job} job
 */
function changes(host, { dialect, tool }) {
  const name = `${dialect}\0${tool}`;
  const told = known.get(name) ?? host.guest.call('tools', 'changes', [dialect, tool]);
  // Nothing is kept of a tool that there is not: any number of names could be asked for.
  if (told !== undefined) known.set(name, told);
  return told ?? false;
}

/** @param {any} error */
function asError(error) {
  if (typeof error?.code === 'string' && typeof error.message === 'string' && !(error instanceof Error)) return error;
  return toolError('io', `the host failed: ${error?.stack ?? error}`, 'this is a defect of the tool, not of the call; report it with the arguments');
}
