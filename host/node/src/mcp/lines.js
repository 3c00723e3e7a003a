/** Lines of a stream of bytes, with a maximum length. */

import { RequestIdReader } from './request_id.js';

/**
 * @typedef {{text: string}} Text A line that is not empty.
 * @typedef {{tooLong: true, id: string | number | undefined}} TooLong A line over the maximum, and the id of the request
 *   in it, if it is one.
 */

export class Lines {
  #max;
  /** Pieces of the current line. @type {Uint8Array[]} */
  #pieces = [];
  #length = 0;
  /** Reader of the id in a line that is too long, until the line is reported. @type {RequestIdReader | undefined} */
  #requestId;
  /** Whether the rest of a reported line is being skipped. */
  #isSkipping = false;

  /** @param {number} max Maximum length of a line in bytes. */
  constructor(max) {
    this.#max = max;
  }

  /** Returns the lines that end in these bytes. @param {Uint8Array} bytes @returns {Generator<Text | TooLong>} */
  *read(bytes) {
    let start = 0;
    while (start < bytes.length) {
      const end = bytes.indexOf(0x0a, start);
      const line = this.#add(bytes.subarray(start, end < 0 ? bytes.length : end), end >= 0);
      if (line) yield line;
      start = end < 0 ? bytes.length : end + 1;
    }
  }

  /** Returns a line that is too long and has not been reported, at the end of the stream. @returns {TooLong | undefined} */
  end() {
    return this.#requestId && this.#report();
  }

  /** @param {Uint8Array} piece @param {boolean} isLast */
  #add(piece, isLast) {
    if (this.#isSkipping) {
      this.#isSkipping = !isLast;
      return undefined;
    }
    if (this.#requestId === undefined && this.#length + piece.length <= this.#max) {
      this.#pieces.push(piece);
      this.#length += piece.length;
      return isLast ? this.#take() : undefined;
    }
    const reader = (this.#requestId ??= this.#overflow());
    reader.read(piece);
    // The answer need not wait for the end of the line if the id is known.
    if (!isLast && reader.id === undefined) return undefined;
    this.#isSkipping = !isLast;
    return this.#report();
  }

  /** @returns {Text | undefined} */
  #take() {
    // A byte order mark may precede JSON.
    const text = new TextDecoder().decode(Buffer.concat(this.#pieces)).trim();
    this.#clear();
    return text === '' ? undefined : { text };
  }

  #overflow() {
    const reader = new RequestIdReader();
    this.#pieces.forEach((piece) => reader.read(piece));
    this.#clear();
    return reader;
  }

  /** @returns {TooLong} */
  #report() {
    const id = this.#requestId?.id;
    this.#requestId = undefined;
    return { tooLong: true, id };
  }

  #clear() {
    this.#pieces = [];
    this.#length = 0;
  }
}
