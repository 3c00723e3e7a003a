/** Names and link targets in UTF-8, as WASI requires. */

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes UTF-8. Invalid bytes throw the error code of WASI. @param {Uint8Array} bytes */
export function utf8(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    throw 'illegal-byte-sequence';
  }
}
