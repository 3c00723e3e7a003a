/**
 * Open directories, and how a name in one is reached so that nothing put in its way can lead elsewhere.
 *
 * Node has no `openat`. On Linux `/proc/self/fd/N/name` is one: the kernel starts at the descriptor, whatever
 * became of the directory's own name, so a process that renames directories and links meanwhile changes nothing.
 * Elsewhere the way to the directory is checked before and after, which a fast enough process can still get between.
 */

import { closeSync, constants, existsSync, fstatSync, fsyncSync, lstatSync, openSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

const { O_DIRECTORY = 0, O_NOCTTY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;

/** For any open: no link is followed, and neither a FIFO nor a terminal holds it up. */
export const NEVER_WAIT = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

const DIRECTORY = O_RDONLY | O_DIRECTORY | NEVER_WAIT;

/** Whether the system reaches names through descriptors. */
export const HAS_PROC = process.platform === 'linux' && existsSync('/proc/self/fd');

/**
 * An open directory.
 *
 * @typedef {object} Directory
 * @property {(name: string) => string} entry The path by which the system reaches a name in it.
 * @property {() => void} verify Fails where that path led elsewhere meanwhile.
 * @property {(name: string) => Directory} open Opens a directory in it.
 * @property {() => import('node:fs').BigIntStats} stat
 * @property {() => import('node:fs').Dirent[]} list
 * @property {() => Buffer[]} listBytes Its names as bytes.
 * @property {() => void} sync Makes the names in it durable.
 * @property {() => void} close
 */

/**
 * A directory by its descriptor. Linux only.
 *
 * @implements {Directory}
 */
export class DescriptorDirectory {
  /** @param {number} fd */
  constructor(fd) {
    this.fd = fd;
    this.at = `/proc/self/fd/${fd}/`;
  }

  /** @param {string} path An absolute path without links. */
  static root(path) {
    /** @type {DescriptorDirectory} */
    let directory = new DescriptorDirectory(openSync('/', DIRECTORY));
    for (const name of path.split('/').filter((name) => name !== '')) {
      const above = directory;
      try {
        directory = above.open(name);
      } finally {
        above.close();
      }
    }
    return directory;
  }

  /** @param {string} name */
  entry(name) {
    return this.at + name;
  }

  verify() {}

  /** @param {string} name */
  open(name) {
    return new DescriptorDirectory(openSync(this.at + name, DIRECTORY));
  }

  stat() {
    return fstatSync(this.fd, { bigint: true });
  }

  list() {
    return readdirSync(this.at, { withFileTypes: true });
  }

  listBytes() {
    return readdirSync(this.at, { encoding: 'buffer' });
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
   * @param {import('node:fs').BigIntStats} stat
   */
  constructor(path, stat) {
    this.path = path;
    this.identity = stat;
  }

  /** @param {string} path An absolute path without links. */
  static root(path) {
    const stat = lstatSync(path, { bigint: true });
    if (stat.isSymbolicLink()) throw 'loop';
    if (!stat.isDirectory()) throw 'not-directory';
    const directory = new PathDirectory(path, stat);
    directory.verify();
    return directory;
  }

  /** @param {string} name */
  entry(name) {
    this.verify();
    return join(this.path, name);
  }

  /** Refuses where another directory has its place by now, or a link is on the way. */
  verify() {
    const now = lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    if (!now || !same(now, this.identity) || realpathSync.native(this.path) !== this.path) throw 'no-entry';
  }

  /** @param {string} name */
  open(name) {
    const opened = PathDirectory.root(this.entry(name));
    this.verify();
    return opened;
  }

  stat() {
    this.verify();
    return lstatSync(this.path, { bigint: true });
  }

  list() {
    this.verify();
    const entries = readdirSync(this.path, { withFileTypes: true });
    this.verify();
    return entries;
  }

  listBytes() {
    this.verify();
    return readdirSync(this.path, { encoding: 'buffer' });
  }

  sync() {
    this.verify();
    const fd = openSync(this.path, DIRECTORY);
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }

  close() {}
}

/**
 * Whether two looks were at one file or directory.
 *
 * @param {import('node:fs').BigIntStats} one
 * @param {import('node:fs').BigIntStats} other
 */
export function same(one, other) {
  return one.ino === other.ino && one.dev === other.dev;
}
