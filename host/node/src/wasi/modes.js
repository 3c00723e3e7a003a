/**
 * Permission bits, which WASI 0.2 neither tells nor sets.
 *
 * What a file or directory has is told in the hash of its metadata, whose upper word ends in the bits; they are set by
 * a rename to a name that says them, which renames nothing. The policy tells guests of this: `host.keeps_modes`.
 */

/** @typedef {import('./directory.js').Directory} Directory */
/** @typedef {import('node:fs').BigIntStats} BigIntStats */

/** How a name begins that says permission bits, by four octal digits. */
const REQUEST = '.paddock-mode-';

/** The bits that a hash ends in. */
const REPORTED = 0o7777n;

/** The bits that are set or carried over: without set-ID ones, which a write in place would clear too. */
export const SETTABLE = 0o1777;

/**
 * The value of a metadata hash.
 *
 * @param {BigIntStats} stat
 * @returns {{lower: bigint, upper: bigint}}
 */
export function metadataHash({ dev, ino, size, mode, mtimeNs, ctimeNs }) {
  const words = [dev, ino, size, mode, mtimeNs, ctimeNs];
  return { lower: hash(0n, words), upper: (hash(1n, words) & ~REPORTED) | (mode & REPORTED) };
}

/** FNV-1a over words of 64 bits. @param {bigint} seed @param {bigint[]} words */
function hash(seed, words) {
  const step = (/** @type {bigint} */ sum, /** @type {bigint} */ word) => BigInt.asUintN(64, (sum ^ BigInt.asUintN(64, word)) * 0x100000001b3n);
  // The upper half of a product depends on all of a word, and the lower one on its lower half alone.
  const mixed = [seed, ...words].reduce((sum, word) => step(step(sum, word), sum >> 32n), 0xcbf29ce484222325n);
  return step(mixed, mixed >> 32n);
}

/**
 * The bits that a name says; none where it is any other name.
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
 * Gives a directory, or a file that has no other name, these permission bits.
 *
 * @param {Directory} dir
 * @param {string} name
 * @param {number} mode
 * @param {import('./access_control.js').AccessControl} accessControl
 */
export function setMode(dir, name, mode, accessControl) {
  const entry = dir.find(name);
  try {
    accessControl.checkFound(dir, name, entry);
    const { stat } = entry;
    // Of a file with further names, others may be outside.
    const isAlone = stat.isFile() && stat.nlink === 1n;
    if (!isAlone && !stat.isDirectory()) throw 'not-permitted';
    entry.chmod(mode);
  } finally {
    entry.close();
  }
}
