/** Identities of files and directories, and maps from identities to values. */

/**
 * Device and inode number, which do not depend on the path by which a file or directory is reached.
 *
 * @typedef {{dev: bigint, ino: bigint}} Identity
 */

/**
 * Returns whether two identities are those of one file or directory.
 *
 * @param {Identity} one
 * @param {Identity} other
 */
export function same(one, other) {
  return one.ino === other.ino && one.dev === other.dev;
}

/** @template V */
export class IdentityMap {
  /** Values by inode number and then by device. A combined key would have to be built at every lookup. */
  #byInode = new Map();

  /** @param {Identity} identity */
  get({ dev, ino }) {
    return this.#byInode.get(ino)?.get(dev);
  }

  /** @param {Identity} identity */
  has({ dev, ino }) {
    return this.#byInode.get(ino)?.has(dev) === true;
  }

  /** @param {Identity} identity @param {V} value */
  set({ dev, ino }, value) {
    const devices = this.#byInode.get(ino) ?? new Map();
    this.#byInode.set(ino, devices.set(dev, value));
  }
}

/** A set of files and directories, by identity. @extends {IdentityMap<true>} */
export class IdentitySet extends IdentityMap {
  /** @param {Iterable<Identity>} identities */
  constructor(identities) {
    super();
    for (const identity of identities) this.add(identity);
  }

  /** @param {Identity} identity */
  add(identity) {
    this.set(identity, true);
  }
}
