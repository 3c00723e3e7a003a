/**
 * A path, followed name by name: the directory at its end, the links on it, and the names that do not exist yet.
 *
 * A path is followed only when a workspace opens.
 */

import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path';
import { DescriptorDirectory, HAS_PROC, PathDirectory } from '../wasi/directory.js';
import { same } from '../wasi/identities.js';

/** Maximum number of links on one path, as on Linux. */
const MAX_LINKS = 40;

/** @typedef {import('../wasi/directory.js').Directory} Directory */
/** @typedef {import('../wasi/identities.js').Identity} Identity */
/** @typedef {{directory: Directory, name: string}} Passed */

/**
 * A symbolic link on the way.
 *
 * @typedef {object} Link
 * @property {Identity} identity Identity of the link itself.
 * @property {string} name
 * @property {Passed[]} holders Its parent directories, from the root of the file system.
 */

/** The directories, links and missing names of a path. The caller closes it. */
export class Walk {
  #byPath;
  /** @type {Passed[]} The directories on the path, from the root of the file system; the last one is the deepest that exists. */
  #passed;
  /** @type {Set<Directory>} The open directories. */
  #open = new Set();
  /** @type {string[]} The names after the last directory. The first of them does not exist or is not a directory. */
  missing = [];
  /** Whether the first of the missing names is an entry that is not a directory. */
  isBlocked = false;
  /** @type {Link[]} */
  links = [];

  /**
   * Follows a path. Fails if an entry on the path cannot be followed.
   *
   * @param {string} path
   * @param {boolean} [byPath] Use paths, even if the system supports descriptors.
   * @param {boolean} [isLenient] Treat an entry that cannot be followed as one that is not a directory.
   */
  constructor(path, byPath = false, isLenient = false) {
    this.#byPath = byPath || !HAS_PROC;
    // `resolve` is not used, because it removes `link/..` without following the link.
    const absolute = isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`;
    this.#passed = [this.#top(absolute)];
    try {
      const ahead = names(absolute);
      for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
        if (isLenient) this.#stepOrStop(name, ahead);
        else this.#step(name, ahead);
      }
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Returns the deepest existing directory on the path. It is closed with the walk, and cannot be listed. */
  get directory() {
    return /** @type {Passed} */ (this.#passed.at(-1)).directory;
  }

  /** The directory that holds it, or itself at the top of the file system. */
  get holder() {
    return (this.#passed.at(-2) ?? this.#passed[0]).directory;
  }

  /** The path of that directory, without links. */
  get directoryPath() {
    return pathOf(this.#passed);
  }

  /** The name of that directory in its holder. */
  get name() {
    return /** @type {Passed} */ (this.#passed.at(-1)).name;
  }

  /** Returns the resolved path, without links, whether an entry exists there or not. */
  get path() {
    return join(this.directoryPath, ...this.missing);
  }

  /** The identities of the directories passed, from the top of the file system. */
  get identities() {
    return this.#passed.map(({ directory }) => directory.identity);
  }

  /**
   * Returns the names from a directory to the end of the path, if the path goes through that directory.
   *
   * @param {Identity} from
   */
  below(from) {
    return below(from, this.#passed, this.missing);
  }

  /** Returns the names from a directory to each link in it. @param {Identity} from */
  linksBelow(from) {
    return this.links.map(({ holders, name }) => below(from, holders, [name])).filter((names) => names !== undefined);
  }

  /** Returns whether a link in a directory leads out of it, so that the content of the directory decides where the path ends. @param {Identity} root */
  leaves(root) {
    const isInRoot = (/** @type {Link} */ { holders }) => holders.some(({ directory }) => same(directory.identity, root));
    return this.links.some(isInRoot) && !this.identities.some((identity) => same(identity, root));
  }

  /** Gives up the deepest existing directory, opened for reading. The caller closes it. */
  openEnd() {
    return this.directory.open('.');
  }

  /** Gives up one of its directories. The caller closes it. @param {Directory} directory */
  take(directory) {
    this.#open.delete(directory);
    return directory;
  }

  close() {
    for (const directory of this.#open) directory.close();
    this.#open.clear();
  }

  /** @param {string} path @returns {Passed} */
  #top(path) {
    const { root } = parse(path);
    return { directory: this.#keep(this.#byPath ? PathDirectory.at(root) : DescriptorDirectory.top()), name: root };
  }

  /** @template {Directory} D @param {D} directory */
  #keep(directory) {
    this.#open.add(directory);
    return directory;
  }

  /** @param {string} name @param {string[]} ahead */
  #stepOrStop(name, ahead) {
    try {
      this.#step(name, ahead);
    } catch {
      this.isBlocked = true;
      this.missing.push(name);
    }
  }

  /** @param {string} name @param {string[]} ahead The names still to come, which a link is put in front of. */
  #step(name, ahead) {
    if (name === '..') {
      if (this.missing.pop() === undefined && this.#passed.length > 1) this.#passed.pop();
      if (this.missing.length === 0) this.isBlocked = false;
      return;
    }
    if (this.missing.length > 0) {
      this.missing.push(name);
      return;
    }
    const { directory } = this;
    const stat = lstatSync(directory.entry(name), { bigint: true, throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) this.#follow(name, stat, ahead);
    else if (stat?.isDirectory()) this.#pass(name);
    else {
      this.isBlocked = stat !== undefined;
      this.missing.push(name);
    }
  }

  /** @param {string} name A directory, or whatever was put in its place, which fails. */
  #pass(name) {
    const { directory } = this;
    const passed = directory instanceof DescriptorDirectory ? directory.pass(name) : passByPath(directory, name);
    this.#passed.push({ directory: this.#keep(passed), name });
  }

  /** @param {string} name @param {Identity} link @param {string[]} ahead */
  #follow(name, { dev, ino }, ahead) {
    if (this.links.length >= MAX_LINKS) {
      throw Object.assign(new Error('it passes through too many symbolic links, or through a loop of links'), { code: 'ELOOP' });
    }
    const target = readlinkSync(this.directory.entry(name));
    this.links.push({ identity: { dev, ino }, name, holders: [...this.#passed] });
    if (isAbsolute(target)) this.#passed = [this.#top(resolve(this.directoryPath, target))];
    ahead.unshift(...names(target));
  }
}

/** Returns a directory's path as the file system spells it, which may differ in letter case. @param {Directory} directory @param {string} name */
function passByPath(directory, name) {
  return PathDirectory.at(realpathSync.native(directory.entry(name)));
}

/**
 * The directories that hold an open one now, from its parent to the top of the file system.
 *
 * @param {Directory} directory
 * @returns {Identity[]}
 */
export function holdersOf(directory) {
  /** @type {Identity[]} */
  const holders = [];
  let at = directory;
  try {
    for (;;) {
      const above = aboveOf(at);
      const isTop = above.path === pathNow(at);
      if (at !== directory) at.close();
      at = above.directory;
      if (isTop) return holders;
      holders.push(at.identity);
    }
  } finally {
    if (at !== directory) at.close();
  }
}

/** @param {Directory} directory @returns {{directory: Directory, path: string}} */
function aboveOf(directory) {
  if (directory instanceof DescriptorDirectory) {
    const above = directory.pass('..');
    return { directory: above, path: pathNow(above) };
  }
  const path = dirname(directory.itself);
  return { directory: PathDirectory.at(path), path };
}

/** Returns its present path in the system. A directory can be mounted in itself, so its identity alone does not identify the root. @param {Directory} directory */
function pathNow(directory) {
  return directory instanceof DescriptorDirectory ? readlinkSync(`/proc/self/fd/${directory.fd}`) : directory.itself;
}

/** @param {Identity} from @param {Passed[]} passed @param {string[]} more */
function below(from, passed, more) {
  const depth = passed.findIndex(({ directory }) => same(directory.identity, from));
  return depth < 0 ? undefined : [...passed.slice(depth + 1).map(({ name }) => name), ...more];
}

/** @param {Passed[]} passed */
function pathOf(passed) {
  const { directory } = /** @type {Passed} */ (passed.at(-1));
  return directory instanceof PathDirectory ? directory.itself : join(...passed.map(({ name }) => name));
}

/** @param {string} path */
function names(path) {
  const { root } = parse(path);
  const separators = process.platform === 'win32' ? /[\\/]/ : /\//;
  return path.slice(root.length).split(separators).filter((name) => name !== '' && name !== '.');
}
