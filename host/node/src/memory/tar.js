/** Trees as plain objects, and as the tar archives of the component. */

import { packTar, unpackTar } from 'modern-tar';

/** @typedef {string | Uint8Array | null | {link: string}} Entry A file's text or bytes, null for a directory, or where a symbolic link leads. */
/** @typedef {Record<string, Entry>} Tree By path, relative to the workspace. */

/**
 * @param {Tree} tree
 * @param {Date} [modified] When all of it was last changed.
 * @returns {Promise<Uint8Array>}
 */
export function toTar(tree, modified = new Date()) {
  const entries = Object.entries(tree).map(([path, entry]) => {
    if (entry === null) return { header: { name: `${path}/`, size: 0, type: /** @type {const} */ ('directory'), mtime: modified, mode: 0o755 } };
    if (typeof entry === 'object' && 'link' in entry) {
      return { header: { name: path, size: 0, type: /** @type {const} */ ('symlink'), linkname: entry.link, mtime: modified, mode: 0o777 } };
    }
    const body = typeof entry === 'string' ? new TextEncoder().encode(entry) : entry;
    return { header: { name: path, size: body.length, mtime: modified, mode: 0o644 }, body };
  });
  return packTar(entries);
}

/**
 * @param {Uint8Array} archive
 * @returns {Promise<Record<string, Uint8Array | null | {link: string}>>}
 */
export async function fromTar(archive) {
  const entries = await unpackTar(archive);
  /** @type {Map<string, Uint8Array | null | {link: string}>} */
  const tree = new Map();
  for (const { header, data } of entries) {
    const path = header.name.replace(/\/$/, '');
    // A file in a directory implies the directory, whose own entry is dropped.
    tree.delete(path.slice(0, Math.max(path.lastIndexOf('/'), 0)));
    if (header.type === 'symlink') tree.set(path, { link: header.linkname ?? '' });
    else tree.set(path, header.type === 'directory' ? null : (data ?? new Uint8Array(0)));
  }
  // An assignment would not work for a file named `__proto__`.
  return Object.fromEntries(tree);
}
