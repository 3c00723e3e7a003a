/**
 * Failures, as values and as exceptions.
 *
 * @typedef {import('../component/interfaces/paddock-files-types.js').ErrorCode} ErrorCode
 */

/**
 * A failure of a call, worded for a model that has to act on it.
 *
 * @typedef {object} ToolError
 * @property {ErrorCode} code Class of the failure.
 * @property {string} message The operation that failed, the path in backticks, and the cause.
 * @property {string} [path] The path as the caller passed it, if the failure concerns a path.
 * @property {string} [hint] A call or an argument that would work instead.
 */

/** A failure as an exception: of a typed method, of a call with `throws`, or of opening a workspace. */
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
