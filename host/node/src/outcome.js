/**
 * How a call ended.
 *
 * @typedef {import('./errors.js').ToolError} ToolError
 */

import { PaddockError } from './errors.js';

/**
 * One change that a call made.
 *
 * @typedef {object} Change
 * @property {'created' | 'modified' | 'deleted' | 'moved'} kind What happened.
 * @property {string} path Where, relative to the workspace.
 * @property {string} [to] Where to, for `moved`.
 * @property {number} [size] Bytes afterwards, where a file is there afterwards.
 */

/**
 * What a person is asked about before a call does it.
 *
 * @typedef {object} Plan
 * @property {string} digest SHA-256 of the call and of what is at every path that it would change.
 * @property {string} summary What would be done, in lines of text; the first says it in short.
 * @property {string[]} paths The paths that would change.
 */

/**
 * How a call ended: a failure of the tool is a value too.
 *
 * @typedef {object} Outcome
 * @property {boolean} ok Whether the tool did what was asked.
 * @property {any} result The result in the dialect's shape; where `ok` is false, the error as the dialect tells it.
 * @property {string} text The result as text for the model.
 * @property {ToolError} [error] Why it failed, where `ok` is false.
 * @property {Change[]} changes What it changed, in the order in which it was done.
 * @property {boolean} truncated Whether a limit cut the result short; the result says what continues it.
 * @property {Plan} [plan] What a person would have to approve, where that is why it failed.
 */

/**
 * The outcome as the component tells it, which a thread hands to another.
 *
 * @typedef {import('../component/interfaces/paddock-files-tools.js').Outcome} Told
 */

/**
 * @param {Told} told
 * @param {Plan} [plan]
 * @returns {Outcome}
 */
export function outcome(told, plan) {
  /** @type {Outcome} */
  const shown = {
    ok: told.ok,
    result: JSON.parse(told.result),
    text: told.text,
    changes: told.changes.map(change),
    truncated: told.truncated,
  };
  if (told.error) shown.error = told.error;
  if (plan) shown.plan = plan;
  return shown;
}

/** @param {import('../component/interfaces/paddock-files-types.js').Change} change @returns {Change} */
function change({ kind, path, to, size }) {
  /** @type {Change} */
  const shown = { kind, path };
  if (to !== undefined) shown.to = to;
  if (size !== undefined) shown.size = Number(size);
  return shown;
}

/**
 * The outcome of a call that the host could not make or had to end.
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
 * The outcome of a call that did what was asked; throws for any other.
 *
 * @param {Outcome} outcome
 */
export function unwrap(outcome) {
  if (outcome.error) throw new PaddockError(outcome.error);
  return outcome;
}
