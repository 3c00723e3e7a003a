/** Opening one name: nothing but a regular file or a directory, and nothing that is closed to the guest. */

import { closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { isPrivate } from './carry.js';
import { NEVER_WAIT, PathDirectory, same } from './directory.js';

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** The bits of a file that is for its owner alone. */
const PRIVATE = 0o600;

/** Names of `Absent` that are kept. */
const MOST_ABSENT = 100;

/** @typedef {import('./directory.js').Directory} Directory */
/** @typedef {import('./access_control.js').AccessControl} AccessControl */
/** @typedef {import('./filesystem.js').OpenFlags} OpenFlags */
/** @typedef {import('./filesystem.js').DescriptorFlags} DescriptorFlags */

/**
 * A directory, or a file by its descriptor and, where it was only to be read, what it was then.
 *
 * @typedef {{directory: Directory, fd?: undefined, stat?: undefined} | {directory?: undefined, fd: number, stat?: import('node:fs').BigIntStats}} Opened
 */

/**
 * Names that were not there when they were to be opened, such as that of a journal: they are looked at first, since an
 * exception takes longer than all the rest of a call.
 */
const absent = {
  /** @type {Set<string>} */
  names: new Set(),

  /** @param {Directory} dir @param {string} name */
  check(dir, name) {
    if (this.names.has(name) && !lstatSync(dir.entry(name), { throwIfNoEntry: false })) throw 'no-entry';
  },

  /** @param {string} name @param {any} error Why it was not opened. */
  note(name, error) {
    if (error?.code !== 'ENOENT') return;
    if (this.names.size >= MOST_ABSENT) this.names.clear();
    this.names.add(name);
  },
};

/**
 * Opens a name in a directory, or the directory itself by `.`.
 *
 * @param {Directory} dir
 * @param {string} name
 * @param {OpenFlags} how
 * @param {DescriptorFlags} flags
 * @param {AccessControl} accessControl
 * @returns {Opened}
 */
export function open(dir, name, how, flags, accessControl) {
  accessControl.checkName(dir, name);
  if (how.create) accessControl.checkNew(dir, name);
  else absent.check(dir, name);
  try {
    return how.directory ? openDirectory(dir, name, accessControl) : openFile(dir, name, how, flags, accessControl);
  } catch (error) {
    absent.note(name, error);
    throw error;
  }
}

/** @param {Directory} dir @param {string} name @param {AccessControl} accessControl @returns {Opened} */
function openDirectory(dir, name, accessControl) {
  const directory = dir.open(name);
  try {
    accessControl.checkOpened(dir, name, directory.identity, directory.itself);
    return { directory };
  } catch (error) {
    directory.close();
    throw error;
  }
}

/**
 * A regular file or, where that is what the name is, a directory. Anything else that was put there since the
 * guest looked is closed again.
 *
 * @param {Directory} dir @param {string} name @param {OpenFlags} how @param {DescriptorFlags} flags @param {AccessControl} accessControl
 * @returns {Opened}
 */
function openFile(dir, name, how, flags, accessControl) {
  const path = dir.entry(name);
  const fd = openSync(path, access(flags) | (how.create ? O_CREAT | O_EXCL : 0) | NEVER_WAIT, isPrivate(name) ? PRIVATE : 0o666);
  let isKept = false;
  try {
    const stat = fstatSync(fd, { bigint: true });
    if (stat.isDirectory()) return openDirectory(dir, name, accessControl);
    if (!stat.isFile()) throw 'no-such-device';
    if (dir instanceof PathDirectory) checkPlace(dir, path, stat);
    accessControl.checkOpened(dir, name, stat, dir instanceof PathDirectory ? path : `/proc/self/fd/${fd}`);
    // The mask of this process may have taken bits away.
    if (how.create && isPrivate(name)) fchmodSync(fd, PRIVATE);
    isKept = true;
    return { fd, stat: flags.write ? undefined : stat };
  } finally {
    if (!isKept) closeSync(fd);
  }
}

/**
 * Refuses a file that was opened while something else had its directory's place.
 *
 * @param {PathDirectory} dir @param {string} path @param {import('node:fs').BigIntStats} opened
 */
function checkPlace(dir, path, opened) {
  const stat = lstatSync(path, { bigint: true });
  dir.verify();
  if (!same(stat, opened)) throw 'no-entry';
}

/** @param {DescriptorFlags} flags */
function access(flags) {
  if (!flags.write) return O_RDONLY;
  return flags.read ? O_RDWR : O_WRONLY;
}
