/**
 * Transport over standard input and output, with one message per line. The transport of the SDK ends the session at a
 * long message, and answers neither a line that is no JSON nor a batch.
 */

import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { fault, invalid } from './check.js';
import { Lines } from './lines.js';

/** @typedef {import('@modelcontextprotocol/sdk/types.js').JSONRPCMessage} JSONRPCMessage */
/** @typedef {{open: number, answers: any[]}} Batch Number of requests without an answer, and the answers so far. */

/** Maximum length of a message in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Maximum number of messages of a batch, whose answers are held until the last one. */
const MAX_BATCH = 256;
/** The only revision that has batches. */
const BATCHES = '2025-03-26';
/** Time in milliseconds after the end of the input in which a request has to be answered, or the others are given up. */
const PATIENCE = 5_000;

/** @typedef {import('@modelcontextprotocol/sdk/shared/transport.js').Transport} Transport */

/** @implements {Transport} */
export class LineTransport {
  /** @type {(() => void) | undefined} */
  onclose;
  /** @type {((error: Error) => void) | undefined} */
  onerror;
  /** @type {((message: any) => void) | undefined} */
  onmessage;

  #input;
  #output;
  #remedy;
  #lines = new Lines(MAX_BYTES);
  #hasBatches = false;
  /** Requests without an answer, by their ids as JSON, each with its batch. @type {Map<string, (Batch | undefined)[]>} */
  #requests = new Map();
  /** @type {string | undefined} */
  #initialize;
  #hasEnded = false;
  /** @type {NodeJS.Timeout | undefined} */
  #patience;

  /**
   * @param {import('node:stream').Readable} input
   * @param {import('node:stream').Writable} output
   * @param {string} remedy Remedy for a message that is too long.
   */
  constructor(input, output, remedy) {
    this.#input = input;
    this.#output = output;
    this.#remedy = remedy;
  }

  async start() {
    this.#input.on('data', this.#read);
    this.#input.on('error', this.#fail);
    this.#input.once('end', this.#end);
  }

  /** @param {any} message */
  async send(message) {
    if (message.method !== undefined) return await this.#write(message);
    const key = JSON.stringify(message.id);
    if (key === this.#initialize) this.#hasBatches = message.result?.protocolVersion === BATCHES;
    const batch = this.#settle(key);
    if (batch === undefined) await this.#write(message);
    else await this.#answer(batch, message);
    this.#closeIfDone();
  }

  async close() {
    clearTimeout(this.#patience);
    this.#input.off('data', this.#read);
    this.#input.off('error', this.#fail);
    this.#input.off('end', this.#end);
    this.#input.pause();
    this.onclose?.();
  }

  /** @param {Uint8Array} bytes */
  #read = (bytes) => {
    for (const line of this.#lines.read(bytes)) this.#handleLine(line);
  };

  /** @param {Error} error */
  #fail = (error) => void this.onerror?.(error);

  #end = () => {
    const rest = this.#lines.end();
    if (rest) this.#handleLine(rest);
    this.#hasEnded = true;
    this.#closeIfDone();
  };

  /** Closes the transport after the end of the input, once every request is answered or given up. */
  #closeIfDone() {
    if (!this.#hasEnded) return;
    clearTimeout(this.#patience);
    if (this.#requests.size === 0) void this.close();
    else this.#patience = setTimeout(() => void this.close(), PATIENCE);
  }

  /** @param {import('./lines.js').Text | import('./lines.js').TooLong} line */
  #handleLine(line) {
    if ('tooLong' in line) return this.#refuse(invalid(`a message may have at most ${MAX_BYTES} bytes; ${this.#remedy}`), line.id);
    let message;
    try {
      message = JSON.parse(line.text);
    } catch (cause) {
      const reason = /** @type {Error} */ (cause).message;
      return this.#refuse({ code: ErrorCode.ParseError, message: `a message has to be one line of JSON: ${reason}` });
    }
    if (Array.isArray(message)) this.#handleBatch(message);
    else this.#handle(message);
  }

  /** @param {unknown[]} messages */
  #handleBatch(messages) {
    const error = batchError(messages.length, this.#hasBatches);
    if (error !== undefined) return this.#refuse(invalid(error));
    // The batch itself is open until all of its messages were handled.
    const batch = { open: 1, answers: [] };
    messages.forEach((message) => this.#handle(message, batch));
    this.#release(batch);
  }

  /** @param {any} message @param {Batch} [batch] */
  #handle(message, batch) {
    const wrong = fault(message);
    if (wrong === 'ignored') return;
    if (wrong) return this.#refuse(wrong.error, wrong.id, batch);
    if (message.method === 'initialize' && batch) return this.#refuse(invalid('`initialize` cannot be part of a batch'), message.id, batch);
    if (message.method === 'notifications/cancelled') this.#cancel(JSON.stringify(message.params?.requestId));
    if (message.method !== undefined && message.id !== undefined) this.#expect(JSON.stringify(message.id), message.method, batch);
    this.onmessage?.(message);
  }

  /** @param {string} key @param {string} method @param {Batch} [batch] */
  #expect(key, method, batch) {
    if (batch) batch.open += 1;
    if (method === 'initialize') this.#initialize = key;
    this.#requests.set(key, [...(this.#requests.get(key) ?? []), batch]);
  }

  /** Removes a request that is answered or cancelled, and returns its batch. @param {string} key */
  #settle(key) {
    const [first, ...others] = this.#requests.get(key) ?? [];
    if (others.length > 0) this.#requests.set(key, others);
    else this.#requests.delete(key);
    return first;
  }

  /** The SDK does not answer a cancelled request. @param {string} key */
  #cancel(key) {
    const batch = this.#settle(key);
    if (batch) this.#release(batch);
    this.#closeIfDone();
  }

  /** @param {import('./check.js').RpcError} error @param {unknown} [id] @param {Batch} [batch] */
  #refuse(error, id = null, batch) {
    const answer = { jsonrpc: '2.0', id, error };
    if (!batch) return void this.#write(answer);
    batch.open += 1;
    void this.#answer(batch, answer);
  }

  /** @param {Batch} batch @param {any} answer */
  #answer(batch, answer) {
    batch.answers.push(answer);
    return this.#release(batch);
  }

  /** Writes the answers of a batch of which nothing else is open. @param {Batch} batch */
  async #release(batch) {
    batch.open -= 1;
    if (batch.open === 0 && batch.answers.length > 0) await this.#write(batch.answers);
  }

  /** @param {unknown} message @returns {Promise<void>} */
  #write(message) {
    return new Promise((resolve) => {
      if (this.#output.write(`${JSON.stringify(message)}\n`)) resolve();
      else this.#output.once('drain', resolve);
    });
  }
}

/** Returns why a batch of this many messages is refused. @param {number} length @param {boolean} hasBatches */
function batchError(length, hasBatches) {
  if (!hasBatches) return `only the protocol revision ${BATCHES} has batches, after \`initialize\`; send each message as a line of its own`;
  if (length === 0) return 'a batch has to contain a message';
  return length > MAX_BATCH ? `a batch may have at most ${MAX_BATCH} messages` : undefined;
}
