/**
 * Permission bits, which WASI 0.2 neither returns nor sets.
 *
 * The hash of an entry's metadata contains the bits at the end of its upper word. A rename to a name that contains bits
 * sets them and renames nothing. The policy announces this to guests: `host.keeps_modes`.
 */

import { createHash } from 'node:crypto';

/** @typedef {import('./directory.js').Directory} Directory */
/** @typedef {import('node:fs').BigIntStats} BigIntStats */

/** Prefix of a name that sets permission bits, before four octal digits. */
const REQUEST = '.paddock-mode-';

/** The bits at the end of a hash. */
const REPORTED = 0o7777n;

/** The bits that are set or carried over. Set-ID bits are excluded; a write in place clears them too. */
export const SETTABLE = 0o1777;

/**
 * The bit before them: whether the hash changes with every change of a file. The policy announces it as `host.has_stamps`.
 */
const STAMP = 0o10000n;

/**
 * Returns the value of a metadata hash.
 *
 * @param {BigIntStats} stat
 * @param {boolean} isStamp Whether every change of the file or of the names in the directory changes its metadata.
 * @returns {{lower: bigint, upper: bigint}}
 */
export function metadataHash({ dev, ino, size, mode, mtimeNs, ctimeNs }, isStamp) {
  const digest = createHash('sha256').update([dev, ino, size, mode, mtimeNs, ctimeNs].join()).digest();
  const flags = (mode & REPORTED) | (isStamp ? STAMP : 0n);
  return { lower: digest.readBigUInt64LE(), upper: (digest.readBigUInt64LE(8) & ~REPORTED & ~STAMP) | flags };
}

/**
 * Returns the bits that a name sets, or none for any other name.
 *
 * @param {string} name
 * @returns {number | undefined}
 */
export function requestedMode(name) {
  if (!name.startsWith(REQUEST)) return undefined;
  const digits = name.slice(REQUEST.length);
  if (!/^[0-7]{4}$/.test(digits)) throw 'invalid';
  return Number.parseInt(digits, 8) & SETTABLE;
}

/**
 * Sets the permission bits of a directory, or of a file with a single name.
 *
 * @param {Directory} dir
 * @param {string} name
 * @param {number} mode
 * @param {import('./access_control.js').AccessControl} accessControl
 */
export function setMode(dir, name, mode, accessControl) {
  const entry = dir.find(name);
  try {
    accessControl.checkExisting(dir, name, entry);
    const { stat } = entry;
    // Further names of a file can be outside of the root.
    const isAlone = stat.isFile() && stat.nlink === 1n;
    if (!isAlone && !stat.isDirectory()) throw 'not-permitted';
    entry.chmod(mode);
  } finally {
    entry.close();
  }
}
