/**
 * Carrying over what WASI cannot set: when a guest's temporary file replaces a file, it gets that file's mode bits
 * and owner first. Everything goes through descriptors that were opened without following a link. Extended
 * attributes are not carried, since Node cannot read them.
 */

import { closeSync, constants, fchmodSync, fchownSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { NEVER_WAIT } from './directory.js';
import { SETTABLE } from './modes.js';

/** What the names of a guest's own files begin with. */
const OWN = '.paddock-';

/**
 * Whether a rename is that of a guest's temporary file.
 *
 * @param {string} from
 */
export function isTemporary(from) {
  return from.startsWith(OWN) && from.endsWith('.tmp');
}

/**
 * Whether a temporary file is for its owner alone, since the file that it is to replace may be.
 *
 * @param {string} name
 */
export function isPrivate(name) {
  return name.startsWith(OWN) && name.endsWith('.private.tmp');
}

/**
 * Gives the file `from` what the regular file `to` has; nothing where there is none.
 *
 * @param {string} from
 * @param {string} to
 */
export function carry(from, to) {
  const old = lstatSync(to, { throwIfNoEntry: false });
  if (!old?.isFile()) return;
  const fd = openSync(from, constants.O_RDWR | NEVER_WAIT);
  try {
    const stat = fstatSync(fd);
    // A second name, or another owner, says that somebody else put it there.
    if (!stat.isFile() || stat.nlink !== 1 || !isOurs(stat)) throw 'invalid';
    // Who owns a file with further names, which may be anybody's, says nothing of this one.
    const isOther = stat.uid !== old.uid || stat.gid !== old.gid;
    if (isOther && old.nlink === 1) carryOwner(fd, old.uid, old.gid);
    fchmodSync(fd, old.mode & SETTABLE);
  } finally {
    closeSync(fd);
  }
}

/** @param {import('node:fs').Stats} stat */
function isOurs({ uid }) {
  return process.geteuid === undefined || uid === process.geteuid();
}

/**
 * The group alone where the owner may not be set: whoever edits a shared file keeps it shared.
 *
 * @param {number} fd
 * @param {number} uid
 * @param {number} gid
 */
function carryOwner(fd, uid, gid) {
  for (const owner of [uid, -1]) {
    try {
      fchownSync(fd, owner, gid);
      return;
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code !== 'EPERM' && code !== 'EINVAL' && code !== 'ENOTSUP') throw error;
    }
  }
}
