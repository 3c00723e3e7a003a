/** Names and link targets in UTF-8, as WASI requires. */

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param {Uint8Array} bytes What they spell; the code of WASI is thrown where that is nothing. */
export function utf8(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    throw 'illegal-byte-sequence';
  }
}
