/**
 * Carrying over what WASI cannot set: when a guest's temporary file replaces a file, it gets that file's mode bits
 * and owner first. Everything goes through descriptors that were opened without following a link. Extended
 * attributes are not carried, since Node cannot read them.
 */

import { closeSync, constants, fchmodSync, fchownSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { NEVER_WAIT } from './directory.js';

/** Mode bits without set-ID ones, which a write in place would clear too. */
const CARRIED = 0o1777;

/**
 * Whether a rename is that of a guest's temporary file.
 *
 * @param {string} from
 */
export function isTemporary(from) {
  return from.startsWith('.paddock-') && from.endsWith('.tmp');
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
    if (!stat.isFile()) throw 'invalid';
    if (stat.uid !== old.uid || stat.gid !== old.gid) carryOwner(fd, old.uid, old.gid);
    fchmodSync(fd, old.mode & CARRIED);
  } finally {
    closeSync(fd);
  }
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
