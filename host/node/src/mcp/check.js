/** Checks of messages, before the SDK gets them. The SDK answers neither invalid messages nor batches. */

import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';

/**
 * @typedef {'string' | 'object'} Type
 * @typedef {{code: number, message: string}} RpcError
 */

/**
 * Parameters of the methods that the server has, with those that may be missing in the second place.
 *
 * @type {Record<string, [Record<string, Type>, Record<string, Type>?]>}
 */
const METHODS = {
  initialize: [{ protocolVersion: 'string', capabilities: 'object', clientInfo: 'object' }],
  'tools/call': [{ name: 'string' }, { arguments: 'object' }],
  'tools/list': [{}, { cursor: 'string' }],
};

/** Returns whether a value is an id of a request. @param {unknown} id */
const isId = (id) => typeof id === 'string' || Number.isSafeInteger(id);

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the error of a value that is no message, with the id of the request, if it is one; `undefined` if the value can
 * be a message. A notification is never answered: its error is `'ignored'`.
 *
 * @param {unknown} message
 * @returns {{error: RpcError, id: unknown} | 'ignored' | undefined}
 */
export function fault(message) {
  if (!isObject(message)) return { error: invalid('a message has to be a JSON object'), id: undefined };
  const { id, method, params } = message;
  const isRequest = method !== undefined;
  const error = envelopeError(message) ?? (typeof method === 'string' ? paramsError(method, params) : undefined);
  if (error === undefined) return undefined;
  if (isRequest && !('id' in message)) return 'ignored';
  // The id of a response is the server's own.
  return { error, id: isRequest && isId(id) ? id : undefined };
}

/** @param {Record<string, unknown>} message @returns {RpcError | undefined} */
function envelopeError(message) {
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== '2.0') return invalid('`jsonrpc` has to be "2.0"');
  if (method === undefined) {
    const isAnswer = 'result' in message !== 'error' in message;
    return isAnswer ? undefined : invalid('a message has either a `method`, a `result` or an `error`');
  }
  if (typeof method !== 'string') return invalid('`method` has to be a string');
  if ('id' in message && !isId(id)) return invalid('`id` has to be a string or an integer');
  if (Array.isArray(params)) return { code: ErrorCode.InvalidParams, message: '`params` has to be an object; the protocol names all parameters' };
  if (params !== undefined && !isObject(params)) return invalid('`params` has to be an object');
  return undefined;
}

/** @param {string} method @param {any} params @returns {RpcError | undefined} */
function paramsError(method, params) {
  if (!Object.hasOwn(METHODS, method)) return undefined;
  const [required, optional = {}] = METHODS[method];
  const reasons = [
    ...Object.entries(required).map(([name, type]) => (params?.[name] === undefined ? `\`${name}\` is missing` : mismatch(name, params[name], type))),
    ...Object.entries(optional).map(([name, type]) => (params?.[name] === undefined ? undefined : mismatch(name, params[name], type))),
  ];
  const reason = reasons.find((reason) => reason !== undefined);
  return reason === undefined ? undefined : { code: ErrorCode.InvalidParams, message: `the parameters of \`${method}\` are invalid: ${reason}` };
}

/** @param {string} name @param {unknown} value @param {Type} type */
function mismatch(name, value, type) {
  const fits = type === 'string' ? typeof value === 'string' : isObject(value);
  return fits ? undefined : `\`${name}\` has to be ${type === 'string' ? 'a string' : 'an object'}, not ${described(value)}`;
}

/** @param {unknown} value */
function described(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** @param {string} message @returns {RpcError} */
export function invalid(message) {
  return { code: ErrorCode.InvalidRequest, message };
}
