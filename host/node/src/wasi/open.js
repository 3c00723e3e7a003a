/** Opens one name, if it is a regular file or a directory and is not closed to the guest. */

import { closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { isPrivate } from './carry.js';
import { PathDirectory } from './directory.js';
import { NEVER_WAIT } from './flags.js';
import { same } from './identities.js';

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** Permission bits of a file that only its owner can access. */
const PRIVATE = 0o600;

/** Maximum number of names that `Absent` stores. */
const MAX_ABSENT = 100;

/** @typedef {import('./directory.js').Directory} Directory */
/** @typedef {import('./entry.js').Entry} Entry */
/** @typedef {import('./access_control.js').AccessControl} AccessControl */
/** @typedef {import('./filesystem.js').OpenFlags} OpenFlags */
/** @typedef {import('./filesystem.js').DescriptorFlags} DescriptorFlags */

/**
 * A directory, or a file by its descriptor and, if it is opened for reading, its state when it was found.
 *
 * @typedef {{directory: Directory, fd?: undefined, stat?: undefined} | {directory?: undefined, fd: number, stat?: import('node:fs').BigIntStats}} Opened
 */

/**
 * Names that did not exist when they were opened, such as that of a journal. They are examined before the next open,
 * because an exception takes longer than the rest of a call.
 */
const absent = {
  /** @type {Set<string>} */
  names: new Set(),

  /** @param {Directory} dir @param {string} name */
  check(dir, name) {
    if (this.names.has(name) && !lstatSync(dir.entry(name), { throwIfNoEntry: false })) throw 'no-entry';
  },

  /** @param {string} name @param {any} error The reason why the open failed. */
  note(name, error) {
    if (error?.code !== 'ENOENT') return;
    if (this.names.size >= MAX_ABSENT) this.names.clear();
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
  if (name === '.') return { directory: dir.open(name) };
  accessControl.checkName(dir, name);
  if (how.create) {
    accessControl.checkNew(dir, name);
    return { fd: create(dir, name, access(flags)) };
  }
  absent.check(dir, name);
  try {
    return openExisting(dir, name, how, flags, accessControl);
  } catch (error) {
    absent.note(name, error);
    throw error;
  }
}

/**
 * Opens an existing name. Fails if it is neither a regular file nor a directory, or is closed to the guest.
 *
 * @param {Directory} dir @param {string} name @param {OpenFlags} how @param {DescriptorFlags} flags @param {AccessControl} accessControl
 * @returns {Opened}
 */
function openExisting(dir, name, how, flags, accessControl) {
  const entry = dir.find(name);
  try {
    const { stat } = entry;
    checkType(stat, how);
    accessControl.checkExisting(dir, name, entry);
    if (stat.isDirectory()) return { directory: dir.openExisting(entry) };
    return { fd: entry.open(access(flags)), stat: flags.write ? undefined : stat };
  } finally {
    entry.close();
  }
}

/** @param {import('node:fs').BigIntStats} stat @param {OpenFlags} how */
function checkType(stat, how) {
  if (stat.isDirectory()) return;
  if (how.directory) throw 'not-directory';
  if (stat.isSymbolicLink()) throw 'loop';
  if (!stat.isFile()) throw 'no-such-device';
}

/** Creates a file at a name that does not exist. @param {Directory} dir @param {string} name @param {number} access */
function create(dir, name, access) {
  const path = dir.entry(name);
  const fd = openSync(path, access | O_CREAT | O_EXCL | NEVER_WAIT, isPrivate(name) ? PRIVATE : 0o666);
  try {
    if (dir instanceof PathDirectory) checkLocation(dir, path, fd);
    // The umask of this process can have removed bits.
    if (isPrivate(name)) fchmodSync(fd, PRIVATE);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Refuses a file that was created while another directory had the path of its directory. @param {PathDirectory} dir @param {string} path @param {number} fd */
function checkLocation(dir, path, fd) {
  const stat = lstatSync(path, { bigint: true });
  dir.verify();
  if (!same(stat, fstatSync(fd, { bigint: true }))) throw 'no-entry';
}

/** @param {DescriptorFlags} flags */
function access(flags) {
  if (!flags.write) return O_RDONLY;
  return flags.read ? O_RDWR : O_WRONLY;
}
