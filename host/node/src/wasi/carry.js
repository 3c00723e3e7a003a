/**
 * Carries over attributes that WASI cannot set: before a guest's temporary file replaces a file, it gets that file's mode
 * bits and owner. All changes use descriptors that were opened without following a link. Extended
 * attributes are not carried, since Node cannot read them.
 */

import { closeSync, constants, fchmodSync, fchownSync, fstatSync, lstatSync } from 'node:fs';
import { SETTABLE } from './modes.js';

/** @typedef {import('./directory.js').Directory} Directory */

/** Prefix of the names of a guest's own files. */
const OWN = '.paddock-';

/**
 * Returns whether a rename is that of a guest's temporary file.
 *
 * @param {string} from
 */
export function isTemporary(from) {
  return from.startsWith(OWN) && from.endsWith('.tmp');
}

/**
 * Returns whether a temporary file is for its owner alone, because the file that it replaces can be private.
 *
 * @param {string} name
 */
export function isPrivate(name) {
  return name.startsWith(OWN) && name.endsWith('.private.tmp');
}

/**
 * Gives the temporary file `from` the attributes of the regular file `to`, if `to` exists.
 *
 * @param {Directory} fromDir
 * @param {string} from
 * @param {Directory} toDir
 * @param {string} to
 * @param {import('./open_files.js').OpenFiles} files
 */
export function carry(fromDir, from, toDir, to, { accessControl, ownLinks }) {
  const old = lstatSync(toDir.entry(to), { bigint: true, throwIfNoEntry: false });
  if (!old?.isFile()) return;
  // A file with further names can belong to any user, so its owner is not carried over.
  const isAlone = old.nlink === BigInt(1 + ownLinks.count(old));
  const entry = fromDir.find(from);
  try {
    accessControl.checkExisting(fromDir, from, entry);
    checkOurs(entry.stat);
    give(entry, { mode: Number(old.mode), uid: Number(old.uid), gid: Number(old.gid) }, isAlone);
  } finally {
    entry.close();
  }
}

/** Refuses a file with a second name or another owner, because another process can have put it there. @param {import('node:fs').BigIntStats} stat */
function checkOurs(stat) {
  const isOurs = process.geteuid === undefined || Number(stat.uid) === process.geteuid();
  if (!stat.isFile() || stat.nlink !== 1n || !isOurs) throw 'invalid';
}

/** @param {import('./entry.js').Entry} entry @param {{mode: number, uid: number, gid: number}} old @param {boolean} isAlone */
function give(entry, old, isAlone) {
  const fd = entry.open(constants.O_RDWR);
  try {
    const stat = fstatSync(fd, { bigint: true });
    checkOurs(stat);
    const isOther = Number(stat.uid) !== old.uid || Number(stat.gid) !== old.gid;
    if (isOther && isAlone) carryOwner(fd, old.uid, old.gid);
    fchmodSync(fd, old.mode & SETTABLE);
  } finally {
    closeSync(fd);
  }
}

/**
 * Sets the group alone if the owner cannot be set, so that a shared file stays shared.
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
