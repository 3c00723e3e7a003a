/** Directory listings, in which names that are not UTF-8 are counted. */

import { lstatSync } from 'node:fs';
import { DISPOSE } from './io.js';
import { typeOf } from './stat.js';
import { utf8 } from './utf8.js';

/** A listing in progress: `wasi:filesystem/types.directory-entry-stream`. */
export class DirectoryEntryStream {
  /** @type {import('node:fs').Dirent[]} */
  #entries;
  #next = 0;
  /** Names that are not UTF-8 and have not been reported yet. */
  #unnamed = 0;
  #listings;

  /** @param {import('./directory.js').Directory} directory @param {import('./open_files.js').OpenFiles['listings']} listings Those of the guest. */
  constructor(directory, listings) {
    this.#listings = listings;
    this.#entries = directory.list();
    // A name that could not be decoded contains U+FFFD, and so can a valid name.
    if (this.#entries.some(isOdd)) this.#settle(directory);
  }

  /** @param {import('./directory.js').Directory} directory Of odd names those stay that are really there. */
  #settle(directory) {
    this.#entries = this.#entries.filter((entry) => !isOdd(entry));
    for (const bytes of directory.listBytes()) {
      try {
        const name = utf8(bytes);
        if (!isOdd({ name })) continue;
        // Another name with the same decoded form can have another type.
        const stat = lstatSync(directory.entry(name), { throwIfNoEntry: false });
        if (stat) this.#entries.push(/** @type {any} */ (Object.assign(stat, { name })));
      } catch (error) {
        if (error !== 'illegal-byte-sequence') throw error;
        this.#unnamed += 1;
      }
    }
  }

  [DISPOSE]() {
    this.#listings.delete(this);
    this.end();
  }

  end() {
    this.#entries = [];
    this.#unnamed = 0;
  }

  /** Returns the next entry, or none at the end. */
  readDirectoryEntry() {
    if (this.#next < this.#entries.length) {
      const entry = this.#entries[this.#next];
      this.#next += 1;
      return { type: typeOf(entry), name: entry.name };
    }
    if (this.#unnamed === 0) return undefined;
    this.#unnamed -= 1;
    throw 'illegal-byte-sequence';
  }
}

/** @param {{name: string}} entry */
function isOdd({ name }) {
  return name.includes('\ufffd');
}
