/**
 * `wasi:filesystem` over Node's synchronous file functions, as far as the component imports it. A descriptor holds the
 * opened file, a name is a single path component, and no link is followed. Errors are thrown as their codes, as jco
 * expects for a `result`.
 *
 * @typedef {import('./directory.js').Directory} Directory
 * @typedef {import('./open_files.js').OpenFiles} OpenFiles
 * @typedef {import('../../component/interfaces/wasi-filesystem-types.js').DescriptorFlags} DescriptorFlags
 * @typedef {import('../../component/interfaces/wasi-filesystem-types.js').PathFlags} PathFlags
 * @typedef {import('../../component/interfaces/wasi-filesystem-types.js').OpenFlags} OpenFlags
 */

import {
  closeSync, fstatSync, fsyncSync, ftruncateSync, linkSync, lstatSync, mkdirSync, readSync, readlinkSync, renameSync, rmdirSync,
  symlinkSync, unlinkSync, writeSync,
} from 'node:fs';
import { carry, isTemporary } from './carry.js';
import { codeOf } from './errors.js';
import { same } from './identities.js';
import { DISPOSE } from './io.js';
import { DirectoryEntryStream } from './listing.js';
import { metadataHash, requestedMode, setMode } from './modes.js';
import { checkName } from './names.js';
import { open } from './open.js';
import { descriptorStat } from './stat.js';
import { utf8 } from './utf8.js';

/** Maximum bytes of one read. More bytes would leave the processor's cache before the guest uses them. */
const MAX_READ = 256 * 1024;

/** Buffer of reads. One is enough, because its content is copied into the guest before the next call. */
const scratch = Buffer.allocUnsafeSlow(MAX_READ);
const nothing = new Uint8Array(0);

/** An open file or directory: `wasi:filesystem/types.descriptor`. */
export class Descriptor {
  /** @type {OpenFiles} */
  #files;
  /** @type {Directory | undefined} */
  #directory;
  /** @type {number | undefined} */
  #fd;
  /** Whether changes through this descriptor are allowed. */
  #mutable;
  /** @type {import('node:fs').BigIntStats | undefined} State of a file when it was opened for reading, until it has been returned. */
  #statOfOpen;
  /** Whether the guest may close it. */
  #isOwn = true;
  /** @type {((name: string) => boolean) | undefined} Names in the directory that are hidden from the guest. */
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
   * Returns a descriptor of a directory that stays open after the guest has closed it or the call has ended.
   *
   * @param {OpenFiles} files
   * @param {Directory} directory
   * @param {boolean} mutable
   * @param {(name: string) => boolean} [hidden] Names in it that are hidden from the guest.
   */
  static preopen(files, directory, mutable, hidden) {
    const descriptor = new Descriptor(files, directory, mutable);
    descriptor.#isOwn = false;
    descriptor.#hidden = hidden;
    return files.preopens.add(descriptor);
  }

  /** @param {PathFlags} follow @param {string} name Or `.`, the directory itself. @param {OpenFlags} how @param {DescriptorFlags} flags */
  openAt(follow, name, how, flags) {
    checkFollow(follow);
    if (name !== '.' || how.create) checkName(name);
    // Either an existing entry or a new file: an existing file must not be truncated before it has been examined.
    if (how.truncate || Boolean(how.create) !== Boolean(how.exclusive)) throw 'not-permitted';
    const changes = how.create || flags.write || flags.mutateDirectory;
    if (changes && !this.#mutable) throw 'not-permitted';
    const { descriptors, accessControl } = this.#files;
    return this.#in(name, (dir) => {
      descriptors.checkCapacity();
      return descriptors.add(this.#opened(open(dir, name, how, flags, accessControl)));
    });
  }

  /** @param {import('./open.js').Opened} opened An entry opened through this descriptor, with at most the same rights. */
  #opened({ directory, fd, stat }) {
    if (directory) {
      const isReadOnly = this.#files.accessControl.isReadOnly(directory.identity);
      return new Descriptor(this.#files, directory, this.#mutable && !isReadOnly);
    }
    const file = new Descriptor(this.#files, fd, this.#mutable);
    file.#statOfOpen = stat;
    return file;
  }

  /** @param {bigint} length @param {bigint} offset @returns {[Uint8Array, boolean]} */
  read(length, offset) {
    const fd = this.#file();
    const size = length > MAX_READ ? MAX_READ : Number(length);
    if (size === 0) return [nothing, true];
    try {
      const read = readSync(fd, scratch, 0, size, position(offset));
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
    const stat = this.#statOfOpen;
    this.#statOfOpen = undefined;
    return attempt(() => descriptorStat(stat ?? (this.#directory ? this.#directory.stat() : fstatSync(this.#file(), { bigint: true }))));
  }

  /** @param {PathFlags} follow @param {string} name */
  statAt(follow, name) {
    return descriptorStat(this.#statOf(follow, name));
  }

  /** Returns whether two descriptors are of one file or directory. @param {Descriptor} other */
  isSameObject(other) {
    try {
      return same(this.#identity(), other.#identity());
    } catch {
      return false;
    }
  }

  #identity() {
    return this.#directory ? this.#directory.identity : fstatSync(this.#file(), { bigint: true });
  }

  /** Returns the hash of the metadata of a file or directory, which contains its mode. */
  metadataHash() {
    return attempt(() => {
      if (!this.#directory) return metadataHash(fstatSync(this.#file(), { bigint: true }), false);
      const stat = this.#directory.stat();
      return metadataHash(stat, this.#directory.recordsChanges(stat.dev));
    });
  }

  /** @param {PathFlags} follow @param {string} name */
  metadataHashAt(follow, name) {
    const stat = this.#statOf(follow, name);
    return metadataHash(stat, (stat.isFile() || stat.isDirectory()) && this.#dir().recordsChanges(stat.dev));
  }

  /** @param {PathFlags} follow @param {string} name */
  #statOf(follow, name) {
    checkFollow(follow);
    checkName(name);
    return this.#in(name, (dir) => {
      const stat = lstatSync(dir.entry(name), { bigint: true, throwIfNoEntry: false });
      dir.verify();
      if (!stat) throw 'no-entry';
      return stat;
    });
  }

  readDirectory() {
    const directory = this.#dir();
    const { listings } = this.#files;
    listings.checkCapacity();
    return attempt(() => listings.add(new DirectoryEntryStream(directory, listings)));
  }

  /** @param {string} name */
  createDirectoryAt(name) {
    checkName(name);
    this.#change(name, (dir, entry) => {
      this.#files.accessControl.checkName(dir, name);
      mkdirSync(entry);
    });
  }

  /** @param {string} name */
  removeDirectoryAt(name) {
    checkName(name);
    this.#change(name, (dir, entry) => {
      this.#files.accessControl.checkMovable(dir, name);
      rmdirSync(entry);
    });
  }

  /** @param {string} name */
  unlinkFileAt(name) {
    checkName(name);
    this.#change(name, (dir, entry) => {
      this.#files.accessControl.checkMovable(dir, name);
      unlinkSync(entry);
    });
  }

  /** @param {string} name */
  readlinkAt(name) {
    checkName(name);
    return this.#in(name, (dir) => {
      const target = utf8(readlinkSync(dir.entry(name), { encoding: 'buffer' }));
      dir.verify();
      this.#files.checkTarget(target);
      return target;
    });
  }

  /** @param {string} target @param {string} name */
  symlinkAt(target, name) {
    checkName(name);
    if (target.includes('\0')) throw 'not-permitted';
    this.#files.checkTarget(target);
    this.#change(name, (dir, entry) => {
      this.#files.accessControl.checkNew(dir, name);
      symlinkSync(target, entry);
    });
  }

  /** @param {PathFlags} follow @param {string} from @param {Descriptor} to @param {string} name */
  linkAt(follow, from, to, name) {
    checkFollow(follow);
    this.#moveAt(from, to, name, (dir, entry, toDir, second) => {
      const { accessControl } = this.#files;
      // A pinned entry could be changed through a second name.
      accessControl.checkMovable(dir, from);
      accessControl.checkNew(toDir, name);
      linkSync(entry, second);
      if (isTemporary(name)) this.#files.ownLinks.add(toDir, name);
    });
  }

  /** @param {string} from @param {Descriptor} to @param {string} name */
  renameAt(from, to, name) {
    this.#moveAt(from, to, name, (dir, entry, toDir, second) => {
      const { accessControl } = this.#files;
      accessControl.checkMovable(dir, from);
      const mode = requestedMode(name);
      if (mode !== undefined) return setMode(dir, from, mode, accessControl);
      accessControl.checkMovable(toDir, name);
      if (isTemporary(from)) carry(dir, from, toDir, name, this.#files);
      renameSync(entry, second);
    });
  }

  /**
   * Calls `act` for a name here and one in another directory, both of which may be changed.
   *
   * @param {string} from
   * @param {Descriptor} to
   * @param {string} name
   * @param {(dir: Directory, entry: string, toDir: Directory, second: string) => void} act
   */
  #moveAt(from, to, name, act) {
    checkName(from);
    checkName(name);
    this.#change(from, (dir, entry) => to.#change(name, (toDir, second) => act(dir, entry, toDir, second)));
  }

  /** Drops the descriptor for the guest; jco calls this. */
  [DISPOSE]() {
    if (!this.#isOwn) return;
    this.#files.descriptors.delete(this);
    this.end();
  }

  /** Invalidates the descriptor. */
  end() {
    const [directory, fd] = [this.#directory, this.#fd];
    this.#directory = undefined;
    this.#fd = undefined;
    if (!this.#isOwn) return;
    directory?.close();
    if (fd !== undefined) closeSync(fd);
  }

  #file() {
    if (this.#fd === undefined) throw this.#directory ? 'is-directory' : 'bad-descriptor';
    return this.#fd;
  }

  #dir() {
    if (!this.#directory) throw this.#fd === undefined ? 'bad-descriptor' : 'not-directory';
    return this.#directory;
  }

  /** Calls `act` if names may be changed. @param {string} name @param {(dir: Directory, entry: string) => void} act */
  #change(name, act) {
    if (!this.#mutable) throw 'not-permitted';
    this.#in(name, (dir) => {
      act(dir, dir.entry(name));
      dir.verify();
    });
  }

  /**
   * Calls `act` with the directory of this descriptor.
   *
   * @template T
   * @param {string} name The name that `act` works on.
   * @param {(dir: Directory) => T} act
   * @returns {T}
   */
  #in(name, act) {
    const dir = this.#dir();
    if (this.#hidden?.(name)) throw 'no-entry';
    return attempt(() => act(dir));
  }
}

/** `wasi:filesystem/types` as jco imports it. */
export const types = { Descriptor, DirectoryEntryStream, filesystemErrorCode: () => undefined };

/** Refuses to follow a link, because the guest resolves links itself. @param {PathFlags} flags */
function checkFollow({ symlinkFollow }) {
  if (symlinkFollow) throw 'not-permitted';
}

/** @param {bigint} offset Converted for Node, which would round a larger number. */
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
