/**
 * What a guest has open during one call. When the call ends, all of it is closed and stands for nothing any more: a guest
 * is used for further calls, and by a handle that it kept it would reach whatever has the descriptor's number by then, or
 * have rights that the next call is not to have.
 */

import { AccessControl } from './access_control.js';
import { OwnLinks } from './own_links.js';

/** Files and directories that a guest may have open at once; a call of a tool has some tens at most. */
export const MAX_OPEN = 1_024;

/** Listings that a guest may have at once, each with the entries of a directory; a call of a tool has one. */
export const MAX_LISTINGS = 64;

/** @typedef {{end: () => void}} Resource */

/** The resources of one kind. */
class Resources {
  #max;
  /** @type {Set<Resource>} */
  #all = new Set();

  /** @param {number} max */
  constructor(max) {
    this.#max = max;
  }

  /** Fails before anything is opened that would be too many. */
  checkRoom() {
    if (this.#all.size >= this.#max) throw 'insufficient-memory';
  }

  /** @template {Resource} R @param {R} resource */
  add(resource) {
    this.#all.add(resource);
    return resource;
  }

  /** @param {Resource} resource */
  delete(resource) {
    this.#all.delete(resource);
  }

  endAll() {
    for (const resource of this.#all) resource.end();
    this.#all.clear();
  }
}

export class OpenFiles {
  descriptors = new Resources(MAX_OPEN);
  listings = new Resources(MAX_LISTINGS);
  /** Directories that the guest is given: they are not its own to close. */
  preopens = new Resources(Infinity);
  ownLinks = new OwnLinks();

  /** @param {AccessControl} [accessControl] What the guest may not open, move or make. */
  constructor(accessControl = new AccessControl()) {
    this.accessControl = accessControl;
  }

  closeAll() {
    for (const resources of [this.descriptors, this.listings, this.preopens]) resources.endAll();
  }
}
