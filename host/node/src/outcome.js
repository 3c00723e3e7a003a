/**
 * Results of tool calls.
 *
 * @typedef {import('./errors.js').ToolError} ToolError
 */

import { PaddockError } from './errors.js';

/**
 * One change that a call made.
 *
 * @typedef {object} Change
 * @property {'created' | 'modified' | 'deleted' | 'moved'} kind Kind of the change.
 * @property {string} path The path, relative to the workspace.
 * @property {string} [to] The new path, for `moved`.
 * @property {number} [size] Size after the change in bytes, if a file is at the path then.
 */

/**
 * Description of a change that a person has to approve.
 *
 * @typedef {object} Plan
 * @property {string} digest SHA-256 of the call and of the present state of every path that it would change.
 * @property {string} summary The planned change as lines of text; the first line is a short description.
 * @property {number} omittedBytes Number of bytes at the end of the text that `summary` leaves out; 0 if it is whole.
 * @property {string[]} paths The paths that would change.
 */

/**
 * Result of a tool call. A failure of the tool is a value too.
 *
 * @typedef {object} Outcome
 * @property {boolean} ok Whether the call succeeded.
 * @property {any} result The result in the dialect's shape. If `ok` is false, the error in the dialect's shape.
 * @property {string} text The result as text for the model.
 * @property {ToolError} [error] The failure, if `ok` is false.
 * @property {Change[]} changes Changes that the call made, in order.
 * @property {boolean} truncated Whether a limit cut the result short. The result then says which argument continues it.
 * @property {Plan} [plan] The plan to approve, if the call failed because it needs approval.
 */

/**
 * The outcome as the component returns it, which one thread sends to another.
 *
 * @typedef {import('../component/interfaces/paddock-files-tools.js').Outcome} ToolOutcome
 */

/**
 * @param {ToolOutcome} returned
 * @param {Plan} [plan]
 * @returns {Outcome}
 */
export function outcome(returned, plan) {
  /** @type {Outcome} */
  const plain = {
    ok: returned.ok,
    result: JSON.parse(returned.result),
    text: returned.text,
    changes: returned.changes.map(change),
    truncated: returned.truncated,
  };
  if (returned.error) plain.error = returned.error;
  if (plan) plain.plan = plan;
  return plain;
}

/** @param {import('../component/interfaces/paddock-files-types.js').Change} change @returns {Change} */
function change({ kind, path, to, size }) {
  /** @type {Change} */
  const plain = { kind, path };
  if (to !== undefined) plain.to = to;
  if (size !== undefined) plain.size = Number(size);
  return plain;
}

/**
 * Returns the outcome of a call that the host could not make or had to end.
 *
 * @param {ToolError} error
 * @returns {Outcome}
 */
export function failed(error) {
  const { code, message, path = null, hint = null } = error;
  const text = hint ? `${message}\n${hint}` : message;
  return { ok: false, result: { code, message, path, hint }, text, error, changes: [], truncated: false };
}

/**
 * Returns the outcome of a call that succeeded, and throws for any other.
 *
 * @param {Outcome} outcome
 */
export function unwrap(outcome) {
  if (outcome.error) throw new PaddockError(outcome.error);
  return outcome;
}
