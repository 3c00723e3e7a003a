/** Identities of files and directories, and values by them. */

/**
 * Device and inode number: the same for one file or directory, by whatever path it is reached.
 *
 * @typedef {{dev: bigint, ino: bigint}} Identity
 */

/**
 * Whether two identities are of one file or directory.
 *
 * @param {Identity} one
 * @param {Identity} other
 */
export function same(one, other) {
  return one.ino === other.ino && one.dev === other.dev;
}

/** @template V */
export class IdentityMap {
  /** By inode number first: a key of both would have to be put together at every look. @type {Map<bigint, Map<bigint, V>>} */
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

/** Files and directories that are known by what they are. @extends {IdentityMap<true>} */
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
