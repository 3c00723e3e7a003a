/** Search for the id of a request in a message that is too long to be held or parsed. */

/** Maximum length of an id in bytes. */
const MAX_ID_BYTES = 256;

/**
 * Reader of the members of a JSON object whose text arrives in pieces. It holds a key or an id at a time, and reads over
 * everything else: a client may write the id before its long parameters or after them.
 */
export class RequestIdReader {
  /** Number of open objects and arrays. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Bytes of the current key or value of the outer object, cut off when it is too long for an id. @type {number[]} */
  #token = [];
  #isIdNext = false;
  #hasMethod = false;
  /** @type {string | number | undefined} */
  #id;

  /** The id, if it is certain that the message is a request. A response has an id too, but the server's own. */
  get id() {
    return this.#hasMethod ? this.#id : undefined;
  }

  /** Reads the next bytes of the message. @param {Uint8Array} bytes */
  read(bytes) {
    for (const byte of bytes) this.#readByte(byte);
  }

  /** @param {number} byte */
  #readByte(byte) {
    if (this.#isInString) {
      this.#keep(byte);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === 0x5c) this.#isEscaped = true;
      else if (byte === 0x22) this.#isInString = false;
      return;
    }
    switch (byte) {
      case 0x3a: // `:`
        if (this.#depth === 1) return this.#endKey();
        break;
      case 0x2c: // `,`
        if (this.#depth === 1) return this.#endValue();
        break;
      case 0x7d: // `}`
      case 0x5d: // `]`
        if (this.#depth === 1) this.#endValue();
        this.#depth = Math.max(this.#depth - 1, 0);
        return;
      case 0x7b: // `{`
      case 0x5b: // `[`
        // The token is no id from here on: an object or array is none.
        this.#keep(byte);
        this.#depth += 1;
        return;
    }
    this.#isInString = byte === 0x22;
    if (byte > 0x20) this.#keep(byte);
  }

  /** @param {number} byte */
  #keep(byte) {
    if (this.#depth === 1 && this.#token.length <= MAX_ID_BYTES) this.#token.push(byte);
  }

  #endKey() {
    const key = this.#takeToken();
    this.#isIdNext = key === '"id"';
    this.#hasMethod ||= key === '"method"';
  }

  #endValue() {
    const isId = this.#isIdNext && this.#token.length <= MAX_ID_BYTES;
    const text = this.#takeToken();
    this.#isIdNext = false;
    if (!isId) return;
    try {
      const id = JSON.parse(text);
      this.#id = typeof id === 'string' || Number.isSafeInteger(id) ? id : undefined;
    } catch {}
  }

  #takeToken() {
    const text = Buffer.from(this.#token).toString();
    this.#token = [];
    return text;
  }
}
