/**
 * Files and directories that a guest has open during one call. At the end of the call, all are closed and their handles
 * become invalid. The guest is used for further calls: through an old handle it would reach another file that has the
 * descriptor's number by then, or have rights that the next call must not have.
 */

import { AccessControl } from './access_control.js';
import { OwnLinks } from './own_links.js';

/** Maximum number of open files and directories of a guest. A tool call has some tens at most. */
export const MAX_OPEN = 1_024;

/** Maximum number of listings of a guest, each with the entries of a directory. A tool call has one. */
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

  /** Fails if one more resource would exceed the limit. */
  checkCapacity() {
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
  /** Preopened directories, which the guest cannot close. */
  preopens = new Resources(Infinity);
  ownLinks = new OwnLinks();

  #rootNames;

  /**
   * @param {AccessControl} [accessControl] Rules for entries that the guest may not open, move or create.
   * @param {string[]} [rootNames] Absolute paths of the roots.
   */
  constructor(accessControl = new AccessControl(), rootNames = []) {
    this.accessControl = accessControl;
    this.#rootNames = rootNames;
  }

  /**
   * Fails if the target of a symbolic link is absolute and in no root, which would reveal a path of this machine. Only
   * the guest follows the link, name by name from the root, so `..` in the target leads no further than in a relative
   * one.
   *
   * @param {string} target
   */
  checkTarget(target) {
    const isBelow = (/** @type {string} */ name) => target === name || target.startsWith(name.endsWith('/') ? name : `${name}/`);
    if (target.startsWith('/') && !this.#rootNames.some(isBelow)) throw 'not-permitted';
  }

  closeAll() {
    for (const resources of [this.descriptors, this.listings, this.preopens]) resources.endAll();
  }
}
