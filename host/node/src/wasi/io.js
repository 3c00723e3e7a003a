/** `wasi:io`, as far as a component without sockets and streams of files has use for it. */

/** By which jco tells that a guest is done with a resource. */
export const DISPOSE = Symbol.dispose ?? Symbol.for('dispose');

/** Anything here is ready at once. */
export class Pollable {
  ready() {
    return true;
  }

  block() {}
}

/** @param {Pollable[]} list */
const poll = (list) => new Uint32Array(list.keys());

export class IoError {
  toDebugString() {
    return 'closed';
  }
}

/** Standard input: at its end. */
export class InputStream {
  read() {
    throw { tag: 'closed' };
  }

  blockingRead() {
    throw { tag: 'closed' };
  }

  subscribe() {
    return new Pollable();
  }
}

/** Bytes that are kept of what a guest says: the message of a panic, in practice. */
const KEPT = 64 * 1024;

/** Standard output or error. */
export class OutputStream {
  #text = '';
  #decoder = new TextDecoder();

  checkWrite() {
    return BigInt(KEPT);
  }

  /** @param {Uint8Array} bytes */
  write(bytes) {
    if (this.#text.length < KEPT) this.#text += this.#decoder.decode(bytes, { stream: true });
  }

  /** @param {Uint8Array} bytes */
  blockingWriteAndFlush(bytes) {
    this.write(bytes);
  }

  flush() {}

  blockingFlush() {}

  subscribe() {
    return new Pollable();
  }

  /** What was said so far. */
  said() {
    return this.#text.trim();
  }
}

export const error = { Error: IoError };
export const streams = { InputStream, OutputStream };
export const pollInterface = { Pollable, poll };
