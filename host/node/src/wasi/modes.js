/**
 * Permission bits, which WASI 0.2 neither returns nor sets.
 *
 * The hash of an entry's metadata contains the bits at the end of its upper word. A rename to a name that contains bits
 * sets them and renames nothing. The policy announces this to guests: `host.keeps_modes`.
 */

/** @typedef {import('./directory.js').Directory} Directory */
/** @typedef {import('node:fs').BigIntStats} BigIntStats */

/** Prefix of a name that sets permission bits, before four octal digits. */
const REQUEST = '.paddock-mode-';

/** The bits at the end of a hash. */
const REPORTED = 0o7777n;

/** The bits that are set or carried over. Set-ID bits are excluded; a write in place clears them too. */
export const SETTABLE = 0o1777;

/**
 * Returns the value of a metadata hash.
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
  // The upper half of a product depends on the whole word, its lower half only on the lower half of the word.
  const mixed = [seed, ...words].reduce((sum, word) => step(step(sum, word), sum >> 32n), 0xcbf29ce484222325n);
  return step(mixed, mixed >> 32n);
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
