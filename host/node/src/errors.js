/**
 * Failures, as values and as exceptions.
 *
 * @typedef {import('../component/interfaces/paddock-files-types.js').ErrorCode} ErrorCode
 */

/**
 * Why a call failed, written for a reader that has to act on it.
 *
 * @typedef {object} ToolError
 * @property {ErrorCode} code What class of failure it is.
 * @property {string} message What failed and why: the verb, the path in backticks, the cause.
 * @property {string} [path] The path as the caller gave it, where the failure is about one.
 * @property {string} [hint] What would work instead.
 */

/** A failure as an exception: of a typed method, of a call that was to throw, or of opening a workspace. */
export class PaddockError extends Error {
  /** @param {ToolError} error */
  constructor({ code, message, path, hint }) {
    super(hint ? `${message}\n${hint}` : message);
    this.name = 'PaddockError';
    this.code = code;
    this.path = path;
    this.hint = hint;
  }
}

/**
 * @param {ErrorCode} code
 * @param {string} message
 * @param {string} [hint]
 * @returns {ToolError}
 */
export function toolError(code, message, hint) {
  return { code, message, hint };
}

/** The failure of a call that the host ended. */
export const stopped = {
  cancelled: () => toolError('cancelled', 'the call was cancelled'),
  deadline: () =>
    toolError('limit-exceeded', 'the call used up its time and was ended', 'ask for less at once: a narrower path or glob, a smaller limit'),
};
