/** `wasi:io`, for a component that uses no sockets and no file streams. */

/** Method that jco calls when a guest drops a resource. */
export const DISPOSE = Symbol.dispose ?? Symbol.for('dispose');

/** A pollable that is always ready. */
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

/** Standard input, which is empty. */
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

/** Maximum bytes kept of a guest's output, which in practice is the message of a panic. */
const MAX_TEXT = 64 * 1024;

/** Standard output or error. */
export class OutputStream {
  #text = '';
  #decoder = new TextDecoder();

  checkWrite() {
    return BigInt(MAX_TEXT);
  }

  /** @param {Uint8Array} bytes */
  write(bytes) {
    if (this.#text.length < MAX_TEXT) this.#text += this.#decoder.decode(bytes, { stream: true });
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

  /** Returns the output so far. */
  text() {
    return this.#text.trim();
  }
}

export const error = { Error: IoError };
export const streams = { InputStream, OutputStream };
export const pollInterface = { Pollable, poll };
