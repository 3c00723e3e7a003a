/** A directory of the guest, on the thread that runs the guest. */

import { toolError } from '../errors.js';
import { directoryOf } from './held.js';

export class Root {
  #directory;

  /** @param {{guest: string, access: 'read-only' | 'read-write', held: import('./held.js').Held}} mount */
  constructor({ guest, access, held }) {
    this.guest = guest;
    this.access = access;
    this.#directory = directoryOf(held);
  }

  /** Returns the directory that was opened with the workspace, whatever its present path is. Fails if it was deleted. */
  directory() {
    if (!this.#directory.isGone()) return this.#directory;
    const hint = 'calls can no longer use it; the person who runs this has to open the workspace again';
    throw toolError('backend-gone', `cannot open the root \`${this.guest}\`: it was deleted, or moved where this system cannot follow it`, hint);
  }
}
