/** Trees as ZIP archives. */

import { unzipSync, zipSync } from 'fflate';
import { PaddockError, toolError } from '../errors.js';

/** The first time that a ZIP archive can tell: the same tree makes the same bytes. */
const EPOCH = new Date(1980, 0, 1);

/** @typedef {Record<string, Uint8Array | null | {link: string}>} SavedTree */

/**
 * @param {SavedTree} tree
 * @param {{skipLinks?: boolean}} [options] Leave symbolic links out, which a ZIP archive does not hold everywhere.
 */
export function toZip(tree, { skipLinks = false } = {}) {
  const links = Object.keys(tree).filter((path) => isLink(tree[path]));
  if (links.length > 0 && !skipLinks) {
    const cause = `a ZIP archive holds no symbolic links, such as \`${links[0]}\``;
    throw new PaddockError(toolError('invalid-argument', `cannot save the tree: ${cause}`, 'say `skipLinks`, or save it as a tar archive'));
  }
  const kept = Object.entries(tree).filter(([, entry]) => !isLink(entry));
  const files = kept.map(([path, entry]) => (entry === null ? [`${path}/`, new Uint8Array(0)] : [path, entry]));
  return zipSync(/** @type {import('fflate').Zippable} */ (Object.fromEntries(files)), { mtime: EPOCH });
}

/**
 * @param {Uint8Array} archive
 * @param {number} most Bytes that all files may have.
 * @returns {import('./tar.js').Tree}
 */
export function fromZip(archive, most) {
  let size = 0;
  const filter = (/** @type {import('fflate').UnzipFileInfo} */ { originalSize }) => {
    size += originalSize;
    if (size <= most) return true;
    throw new PaddockError(toolError('no-space', `cannot load the archive: its files have more than ${most} bytes`, 'raise `limits.max_tree_bytes`, or take a smaller archive'));
  };
  return Object.fromEntries(Object.entries(unzipped(archive, filter)).map(([path, bytes]) => (path.endsWith('/') ? [path.slice(0, -1), null] : [path, bytes])));
}

/** @param {Uint8Array} archive @param {(file: import('fflate').UnzipFileInfo) => boolean} filter */
function unzipped(archive, filter) {
  try {
    return unzipSync(archive, { filter });
  } catch (cause) {
    if (cause instanceof PaddockError) throw cause;
    throw new PaddockError(toolError('invalid-argument', `cannot load the archive: ${/** @type {Error} */ (cause).message}`, 'it has to be a ZIP archive'));
  }
}

/** @param {Uint8Array | null | {link: string}} entry */
function isLink(entry) {
  return entry !== null && 'link' in entry;
}
