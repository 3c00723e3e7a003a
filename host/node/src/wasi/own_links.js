/**
 * Second names that a guest gives to files while it replaces them. A file without any further name is not shared, so its
 * owner can be carried over to its new content.
 */

import { lstatSync } from 'node:fs';
import { IdentityMap, same } from './identities.js';

/** @typedef {import('./directory.js').Directory} Directory */
/** @typedef {import('./identities.js').Identity} Identity */

export class OwnLinks {
  /** @type {IdentityMap<{directory: Directory, name: string}[]>} */
  #known = new IdentityMap();

  /** @param {Directory} directory @param {string} name */
  add(directory, name) {
    const stat = statOf(directory, name);
    if (stat) this.#known.set(stat, [...(this.#known.get(stat) ?? []), { directory, name }]);
  }

  /** Returns the number of names of a file that the guest created. @param {Identity} file */
  count(file) {
    const isStill = (/** @type {{directory: Directory, name: string}} */ { directory, name }) => {
      const stat = statOf(directory, name);
      return stat !== undefined && same(stat, file);
    };
    return (this.#known.get(file) ?? []).filter(isStill).length;
  }
}

/** Returns the present identity of a name in a directory, if it exists. @param {Directory} directory @param {string} name */
function statOf(directory, name) {
  try {
    return lstatSync(directory.entry(name), { bigint: true, throwIfNoEntry: false });
  } catch {
    // The directory has been closed.
    return undefined;
  }
}
