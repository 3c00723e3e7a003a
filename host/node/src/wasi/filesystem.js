/**
 * `wasi:filesystem` over Node's synchronous file functions, as far as the component imports it: descriptors that hold
 * what they opened, paths walked name by name, and no link ever followed. Errors are thrown as their codes, which is
 * how jco takes a `result`.
 *
 * @typedef {import('./directory.js').Directory} Directory
 * @typedef {import('../../component/interfaces/wasi-filesystem-types.js').DescriptorFlags} DescriptorFlags
 * @typedef {import('../../component/interfaces/wasi-filesystem-types.js').PathFlags} PathFlags
 * @typedef {import('../../component/interfaces/wasi-filesystem-types.js').OpenFlags} OpenFlags
 */

import {
  closeSync, constants, fstatSync, fsyncSync, ftruncateSync, linkSync, lstatSync, mkdirSync, openSync, readSync, readlinkSync,
  renameSync, rmdirSync, symlinkSync, unlinkSync, writeSync,
} from 'node:fs';
import { carry, isTemporary } from './carry.js';
import { NEVER_WAIT, same } from './directory.js';
import { codeOf } from './errors.js';
import { DirectoryEntryStream } from './listing.js';
import { isName, walk } from './names.js';
import { shown } from './stat.js';
import { utf8 } from './utf8.js';

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = constants;

/** Most bytes of one read: more would leave the processor's cache before the guest sees them. */
const MAX_READ = 256 * 1024;

/** What is read is copied into the guest before the next call, so one place for it is enough. */
const scratch = Buffer.allocUnsafeSlow(MAX_READ);
const nothing = new Uint8Array(0);

const MOST_ABSENT = 100;

/** By which jco tells that a guest is done with a resource. */
const DISPOSE = Symbol.dispose ?? Symbol.for('dispose');

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

/** What a guest has open: whatever it does not close itself is closed with it. */
export class OpenFiles {
  /** @type {Set<Descriptor>} */
  #open = new Set();

  /** @param {Descriptor} descriptor */
  add(descriptor) {
    this.#open.add(descriptor);
    return descriptor;
  }

  /** @param {Descriptor} descriptor */
  delete(descriptor) {
    this.#open.delete(descriptor);
  }

  closeAll() {
    for (const descriptor of this.#open) descriptor.close();
  }
}

/** An open file or directory: `wasi:filesystem/types.descriptor`. */
export class Descriptor {
  /** @type {OpenFiles} */
  #files;
  /** @type {Directory | undefined} */
  #directory;
  /** @type {number | undefined} */
  #fd;
  /** Whether anything may be changed through it. */
  #mutable;
  /** @type {import('node:fs').BigIntStats | undefined} What a file was as it was opened to be read, until that is told. */
  #seen;
  #isOwn = true;
  /** @type {string[] | undefined} Names in it that are not told of. */
  #hidden;

  /**
   * @param {OpenFiles} files
   * @param {Directory | number} opened A file by its descriptor.
   * @param {boolean} mutable
   */
  constructor(files, opened, mutable) {
    this.#files = files;
    if (typeof opened === 'number') this.#fd = opened;
    else this.#directory = opened;
    this.#mutable = mutable;
  }

  /**
   * A directory that stays open when the guest is done with it.
   *
   * @param {OpenFiles} files
   * @param {Directory} directory
   * @param {boolean} mutable
   * @param {string[]} [hidden] Names in it that are as if they were not there.
   */
  static preopen(files, directory, mutable, hidden) {
    const descriptor = new Descriptor(files, directory, mutable);
    descriptor.#isOwn = false;
    descriptor.#hidden = hidden;
    return descriptor;
  }

  /** @param {PathFlags} _follow @param {string} path @param {OpenFlags} how @param {DescriptorFlags} flags */
  openAt(_follow, path, how, flags) {
    const changes = how.create || how.truncate || flags.write;
    if (changes && !this.#mutable) throw 'not-permitted';
    return this.#at(path, (dir, name) => {
      if (!how.create) absent.check(dir, name);
      try {
        return this.#files.add(how.directory ? this.#held(dir.open(name)) : this.#openFile(dir, name, how, flags));
      } catch (error) {
        absent.note(name, error);
        throw error;
      }
    });
  }

  /**
   * A regular file or, where that is what the name is, a directory. Anything else that was put there since the
   * guest looked is closed again.
   *
   * @param {Directory} dir @param {string} name @param {OpenFlags} how @param {DescriptorFlags} flags
   */
  #openFile(dir, name, how, flags) {
    const made = (how.create ? O_CREAT : 0) | (how.exclusive ? O_EXCL : 0) | (how.truncate ? O_TRUNC : 0);
    const path = dir.entry(name);
    const fd = openSync(path, access(flags) | made | NEVER_WAIT, 0o666);
    let isKept = false;
    try {
      const stat = fstatSync(fd, { bigint: true });
      if (stat.isDirectory()) return this.#held(dir.open(name));
      if (!stat.isFile()) throw 'no-such-device';
      checkPlace(dir, path, stat);
      isKept = true;
      const file = this.#held(fd);
      if (!flags.write) file.#seen = stat;
      return file;
    } finally {
      if (!isKept) closeSync(fd);
    }
  }

  /** @param {Directory | number} opened What was reached through this descriptor, with its rights. */
  #held(opened) {
    return new Descriptor(this.#files, opened, this.#mutable);
  }

  /** @param {bigint} length @param {bigint} offset @returns {[Uint8Array, boolean]} */
  read(length, offset) {
    const fd = this.#file();
    const most = length > MAX_READ ? MAX_READ : Number(length);
    if (most === 0) return [nothing, true];
    try {
      const read = readSync(fd, scratch, 0, most, position(offset));
      return [scratch.subarray(0, read), read === 0];
    } catch (error) {
      throw codeOf(error);
    }
  }

  /** @param {Uint8Array} bytes @param {bigint} offset */
  write(bytes, offset) {
    const fd = this.#file();
    try {
      return BigInt(writeSync(fd, bytes, 0, bytes.byteLength, position(offset)));
    } catch (error) {
      throw codeOf(error);
    }
  }

  /** @param {bigint} size */
  setSize(size) {
    const fd = this.#file();
    attempt(() => ftruncateSync(fd, position(size)));
  }

  sync() {
    attempt(() => (this.#directory ? this.#directory.sync() : fsyncSync(this.#file())));
  }

  stat() {
    const seen = this.#seen;
    this.#seen = undefined;
    return attempt(() => shown(seen ?? (this.#directory ? this.#directory.stat() : fstatSync(this.#file(), { bigint: true }))));
  }

  /** @param {PathFlags} _follow @param {string} path */
  statAt(_follow, path) {
    return this.#at(path, (dir, name) => {
      const stat = lstatSync(dir.entry(name), { bigint: true, throwIfNoEntry: false });
      dir.verify();
      if (!stat) throw 'no-entry';
      return shown(stat);
    });
  }

  readDirectory() {
    const directory = this.#dir();
    return attempt(() => new DirectoryEntryStream(directory));
  }

  /** @param {string} path */
  createDirectoryAt(path) {
    this.#change(path, (entry) => mkdirSync(entry));
  }

  /** @param {string} path */
  removeDirectoryAt(path) {
    this.#change(path, (entry) => rmdirSync(entry));
  }

  /** @param {string} path */
  unlinkFileAt(path) {
    this.#change(path, (entry) => unlinkSync(entry));
  }

  /** @param {string} path */
  readlinkAt(path) {
    return this.#at(path, (dir, name) => {
      const target = utf8(readlinkSync(dir.entry(name), { encoding: 'buffer' }));
      dir.verify();
      // What is outside is not to be told.
      if (target.startsWith('/')) throw 'not-permitted';
      return target;
    });
  }

  /** @param {string} target @param {string} path */
  symlinkAt(target, path) {
    if (target.startsWith('/')) throw 'not-permitted';
    this.#change(path, (entry) => symlinkSync(target, entry));
  }

  /** @param {PathFlags} _follow @param {string} from @param {Descriptor} to @param {string} path */
  linkAt(_follow, from, to, path) {
    this.#checkMutable();
    this.#at(from, (dir, name) => {
      const entry = dir.entry(name);
      to.#change(path, (second) => linkSync(entry, second));
      dir.verify();
    });
  }

  /** @param {string} from @param {Descriptor} to @param {string} path */
  renameAt(from, to, path) {
    this.#checkMutable();
    this.#at(from, (dir, name) => {
      const entry = dir.entry(name);
      to.#change(path, (second) => {
        if (isTemporary(name)) carry(entry, second);
        renameSync(entry, second);
      });
      dir.verify();
    });
  }

  [DISPOSE]() {
    this.close();
  }

  close() {
    if (!this.#isOwn) return;
    this.#isOwn = false;
    this.#files.delete(this);
    if (this.#directory) this.#directory.close();
    else if (this.#fd !== undefined) closeSync(this.#fd);
  }

  #file() {
    if (this.#fd === undefined) throw this.#directory ? 'is-directory' : 'bad-descriptor';
    return this.#fd;
  }

  #dir() {
    if (!this.#directory) throw 'not-directory';
    return this.#directory;
  }

  #checkMutable() {
    if (!this.#mutable) throw 'not-permitted';
  }

  /** @param {string} path @param {(entry: string) => void} act */
  #change(path, act) {
    this.#checkMutable();
    this.#at(path, (dir, name) => {
      act(dir.entry(name));
      dir.verify();
    });
  }

  /**
   * Calls `act` with the directory that holds the last name of `path`, and that name.
   *
   * @template T
   * @param {string} path
   * @param {(dir: Directory, name: string) => T} act
   * @returns {T}
   */
  #at(path, act) {
    const dir = this.#dir();
    if (path.includes('\0')) throw 'invalid';
    if (this.#hidden?.includes(path)) throw 'no-entry';
    try {
      return isName(path) ? act(dir, path) : walk(dir, path, act);
    } catch (error) {
      throw codeOf(error);
    }
  }
}

/** `wasi:filesystem/types` as jco imports it. */
export const types = { Descriptor, DirectoryEntryStream, filesystemErrorCode: () => undefined };

/**
 * Refuses a file that was opened while something else had its directory's place.
 *
 * @param {Directory} dir @param {string} path @param {import('node:fs').BigIntStats} opened
 */
function checkPlace(dir, path, opened) {
  if (!('path' in dir)) return;
  const stat = lstatSync(path, { bigint: true });
  dir.verify();
  if (!same(stat, opened)) throw 'no-entry';
}

/** @param {DescriptorFlags} flags */
function access(flags) {
  if (!flags.write) return O_RDONLY;
  return flags.read ? O_RDWR : O_WRONLY;
}

/** @param {bigint} offset As Node takes it, which would round a larger one. */
function position(offset) {
  if (offset > Number.MAX_SAFE_INTEGER) throw 'file-too-large';
  return Number(offset);
}

/**
 * @template T
 * @param {() => T} act
 * @returns {T}
 */
function attempt(act) {
  try {
    return act();
  } catch (error) {
    throw codeOf(error);
  }
}
