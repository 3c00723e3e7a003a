/**
 * Open directories, and access to names in them that another process cannot redirect.
 *
 * Node has no `openat`. On Linux `/proc/self/fd/N/name` has the same effect: the kernel starts at the descriptor,
 * whatever the directory's present name is, so a process that renames directories and links has no influence. On other
 * systems the path to the directory is checked before and after; a process that swaps names in between can redirect it.
 */

import { closeSync, existsSync, fstatSync, fsyncSync, lstatSync, openSync, readFileSync, readdirSync, realpathSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { DescriptorEntry, PathEntry } from './entry.js';
import { DIRECTORY, O_NOFOLLOW, O_PATH } from './flags.js';
import { same } from './identities.js';

/** Whether the system reaches names through descriptors. */
export const HAS_PROC = process.platform === 'linux' && existsSync('/proc/self/fd');

/**
 * Types of file systems that change the times of a file with every change of the file (`linux/magic.h`): ext2 to ext4, XFS,
 * Btrfs, F2FS, bcachefs, ZFS. Network file systems report times from a cache, `tmpfs` does not change them at a write through
 * a memory map, and the layers of overlayfs can be of any kind.
 */
const CHANGE_RECORDING = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x2fc12fc1]);

/**
 * Returns whether a directory is on a mount of 9p, which reports the type of its server's file system as its own. If that
 * cannot be found out, returns true.
 *
 * @param {number} fd
 * @param {bigint} dev
 */
function isOn9p(fd, dev) {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xfffff000n);
  // 9p has no device of its own, so that the kernel makes up a number.
  if (major !== 0n) return false;
  try {
    const [, mount] = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? [];
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    const [, fileSystem] = mounts.find((line) => line.startsWith(`${mount} `))?.split(' - ') ?? [];
    return fileSystem?.startsWith('9p ') ?? true;
  } catch {
    return true;
  }
}

/** @typedef {import('./identities.js').Identity} Identity */
/** @typedef {import('./entry.js').Entry} Entry */

/**
 * An open directory.
 *
 * @typedef {object} Directory
 * @property {Identity} identity Device and inode. For a directory that was opened earlier, check `isGone` too.
 * @property {string} itself The path by which the system reaches the directory itself.
 * @property {(name: string) => string} entry The path by which the system reaches a name in it.
 * @property {() => void} verify Fails if that path has led elsewhere in the meantime.
 * @property {() => boolean} isGone Whether it was deleted, or its path leads to something else.
 * @property {(name: string) => Directory} open Opens a directory in it, or itself by `.`.
 * @property {(name: string) => Entry} find Finds the entry of a name in it.
 * @property {(entry: Entry) => Directory} openExisting Opens a directory that was found in it.
 * @property {() => import('node:fs').BigIntStats} stat
 * @property {() => import('node:fs').Dirent[]} list
 * @property {() => Buffer[]} listBytes Its names as bytes.
 * @property {(dev: bigint) => boolean} recordsChanges Whether its file system has the number `dev`, and changes the times of
 *   a file with every change of the file.
 * @property {() => void} sync Makes the names in it durable.
 * @property {() => void} close
 */

/**
 * A directory by its descriptor. Linux only.
 *
 * @implements {Directory}
 */
export class DescriptorDirectory {
  /** @type {boolean | undefined} */
  #recordsChanges;

  /**
   * @param {number} fd
   * @param {Identity} identity
   */
  constructor(fd, identity) {
    this.fd = fd;
    this.identity = identity;
    this.itself = `/proc/self/fd/${fd}/`;
  }

  /**
   * Opens a directory by a path of which only the last name can be exchanged by another process.
   *
   * @param {string} path
   * @param {number} [flags]
   */
  static at(path, flags = DIRECTORY) {
    const fd = openSync(path, flags);
    try {
      const { dev, ino } = fstatSync(fd, { bigint: true });
      return new DescriptorDirectory(fd, { dev, ino });
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Opens the root of the file system, to reach other directories. */
  static top() {
    return DescriptorDirectory.at('/', O_PATH | DIRECTORY);
  }

  /** @param {string} name */
  entry(name) {
    return this.itself + name;
  }

  verify() {}

  isGone() {
    const stat = this.stat();
    return stat.nlink === 0n || !same(stat, this.identity);
  }

  /** @param {string} name */
  open(name) {
    return this.#child(DescriptorDirectory.at(this.itself + name));
  }

  /** @param {string} name */
  find(name) {
    return new DescriptorEntry(this.itself + name);
  }

  /** @param {Entry} entry */
  openExisting(entry) {
    const { dev, ino } = entry.stat;
    return this.#child(new DescriptorDirectory(entry.open(DIRECTORY & ~O_NOFOLLOW), { dev, ino }));
  }

  /** Returns a directory in this one, which has the same file system if it has the same device. @param {DescriptorDirectory} child */
  #child(child) {
    if (child.identity.dev === this.identity.dev) child.#recordsChanges = this.#recordsChanges;
    return child;
  }

  /** Opens a directory in it to reach other entries, which needs no right to read it. @param {string} name */
  pass(name) {
    return DescriptorDirectory.at(this.itself + name, O_PATH | DIRECTORY);
  }

  stat() {
    return fstatSync(this.fd, { bigint: true });
  }

  list() {
    return readdirSync(this.itself, { withFileTypes: true });
  }

  listBytes() {
    return readdirSync(this.itself, { encoding: 'buffer' });
  }

  /** @param {bigint} dev */
  recordsChanges(dev) {
    // A descriptor never changes its file system.
    const records = () => CHANGE_RECORDING.has(statfsSync(this.itself).type) && !isOn9p(this.fd, dev);
    return dev === this.identity.dev && (this.#recordsChanges ??= records());
  }

  sync() {
    fsyncSync(this.fd);
  }

  close() {
    closeSync(this.fd);
  }
}

/**
 * A directory by its path and identity, for systems without `/proc/self/fd`.
 *
 * @implements {Directory}
 */
export class PathDirectory {
  /**
   * @param {string} path An absolute path without links.
   * @param {Identity} identity
   */
  constructor(path, identity) {
    this.itself = path;
    this.identity = identity;
  }

  /** @param {string} path An absolute path without links. */
  static at(path) {
    const stat = lstatSync(path, { bigint: true });
    if (stat.isSymbolicLink()) throw 'loop';
    if (!stat.isDirectory()) throw 'not-directory';
    const directory = new PathDirectory(path, { dev: stat.dev, ino: stat.ino });
    directory.verify();
    return directory;
  }

  /** @param {string} name */
  entry(name) {
    this.verify();
    return join(this.itself, name);
  }

  /** Fails if another directory now has its path, or if the path contains a link. */
  verify() {
    if (this.isGone()) throw 'no-entry';
  }

  isGone() {
    const now = lstatSync(this.itself, { bigint: true, throwIfNoEntry: false });
    return !now || !same(now, this.identity) || realpathSync.native(this.itself) !== this.itself;
  }

  /** @param {string} name */
  open(name) {
    const opened = PathDirectory.at(this.entry(name));
    this.verify();
    return opened;
  }

  /** @param {string} name */
  find(name) {
    return new PathEntry(this, name);
  }

  /** @param {Entry} entry */
  openExisting(entry) {
    const opened = PathDirectory.at(entry.itself);
    this.verify();
    if (!same(opened.identity, entry.stat)) throw 'no-entry';
    return opened;
  }

  stat() {
    this.verify();
    return lstatSync(this.itself, { bigint: true });
  }

  list() {
    this.verify();
    const entries = readdirSync(this.itself, { withFileTypes: true });
    this.verify();
    return entries;
  }

  listBytes() {
    this.verify();
    return readdirSync(this.itself, { encoding: 'buffer' });
  }

  recordsChanges() {
    return false;
  }

  sync() {
    this.verify();
    const fd = openSync(this.itself, DIRECTORY);
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }

  close() {}
}
