/** Trees as ZIP archives. */

import { Unzip, UnzipInflate, Zip, ZipDeflate } from 'fflate';
import { PaddockError, toolError } from '../errors.js';

/**
 * Earliest time that a ZIP archive can store. It is used for all entries, so that the same tree gives the same bytes.
 */
const EPOCH = new Date(1980, 0, 1);

/** @typedef {Record<string, Uint8Array | null | {link: string}>} SavedTree */

/**
 * @param {SavedTree} tree
 * @param {{skipLinks?: boolean}} [options] Leave symbolic links out, which a ZIP archive does not hold everywhere.
 * @returns {Uint8Array}
 */
export function toZip(tree, { skipLinks = false } = {}) {
  /** @type {Uint8Array[]} */
  const parts = [];
  const zip = new Zip((error, part) => {
    if (error) throw error;
    parts.push(part);
  });
  for (const [path, entry] of Object.entries(tree)) {
    if (entry === null || !('link' in entry)) add(zip, entry === null ? `${path}/` : path, entry ?? new Uint8Array(0));
    else if (!skipLinks) {
      const cause = `a ZIP archive holds no symbolic links, such as \`${path}\``;
      throw new PaddockError(toolError('invalid-argument', `cannot save the tree: ${cause}`, 'say `skipLinks`, or save it as a tar archive'));
    }
  }
  zip.end();
  return joined(parts);
}

/** @param {Zip} zip @param {string} name @param {Uint8Array} bytes */
function add(zip, name, bytes) {
  const file = new ZipDeflate(name);
  file.mtime = EPOCH;
  zip.add(file);
  file.push(bytes, true);
}

/**
 * @param {Uint8Array} archive
 * @param {number} maxBytes Bytes that all files may have.
 * @returns {import('./tar.js').Tree}
 */
export function fromZip(archive, maxBytes) {
  /** @type {[string, Uint8Array | null][]} */
  const files = [];
  let size = 0;
  const unzip = new Unzip((file) => {
    /** @type {Uint8Array[]} */
    const parts = [];
    file.ondata = (error, part, isLast) => {
      if (error) throw error;
      // The size in the header is untrusted, so the inflated bytes are counted.
      size += part.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      parts.push(part);
      if (isLast) files.push(file.name.endsWith('/') ? [file.name.slice(0, -1), null] : [file.name, joined(parts)]);
    };
    file.start();
  });
  unzip.register(UnzipInflate);
  read(unzip, archive);
  return Object.fromEntries(files);
}

/** Number of compressed bytes that are inflated at a time, so that a decompression bomb stops soon after the limit. */
const AT_ONCE = 64 * 1024;

/** @param {Unzip} unzip @param {Uint8Array} archive */
function read(unzip, archive) {
  try {
    // Every archive starts with the header of a file or, without files, with the end record.
    if (archive[0] !== 0x50 || archive[1] !== 0x4b) throw new Error('it does not start as one');
    for (let at = 0; at < archive.length; at += AT_ONCE) {
      unzip.push(archive.subarray(at, at + AT_ONCE), at + AT_ONCE >= archive.length);
    }
  } catch (cause) {
    if (cause instanceof PaddockError) throw cause;
    throw new PaddockError(toolError('invalid-argument', `cannot load the archive: ${/** @type {Error} */ (cause).message}`, 'it has to be a ZIP archive'));
  }
}

/** @param {number} maxBytes */
function tooLarge(maxBytes) {
  return new PaddockError(toolError('no-space', `cannot load the archive: its files have more than ${maxBytes} bytes`, 'raise `limits.max_tree_bytes`, or take a smaller archive'));
}

/** @param {Uint8Array[]} parts */
function joined(parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
