/** Listing a directory, with names that are not UTF-8 counted. */

import { lstatSync } from 'node:fs';
import { DISPOSE } from './io.js';
import { typeOf } from './stat.js';
import { utf8 } from './utf8.js';

/** A listing under way: `wasi:filesystem/types.directory-entry-stream`. */
export class DirectoryEntryStream {
  /** @type {import('node:fs').Dirent[]} */
  #entries;
  #next = 0;
  /** Names that are not UTF-8, still to be told. */
  #unnamed = 0;
  #listings;

  /** @param {import('./directory.js').Directory} directory @param {import('./open_files.js').OpenFiles['listings']} listings Those of the guest. */
  constructor(directory, listings) {
    this.#listings = listings;
    this.#entries = directory.list();
    // What could not be decoded has U+FFFD in it, and so can what could.
    if (this.#entries.some(isOdd)) this.#settle(directory);
  }

  /** @param {import('./directory.js').Directory} directory Of odd names those stay that are really there. */
  #settle(directory) {
    this.#entries = this.#entries.filter((entry) => !isOdd(entry));
    for (const bytes of directory.listBytes()) {
      try {
        const name = utf8(bytes);
        if (!isOdd({ name })) continue;
        // What was decoded alike may be of another type.
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

  /** The next entry, or none at the end. */
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
