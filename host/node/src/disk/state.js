/** Where journals and backups are kept, outside the workspace. */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/** The guest path of the state directory. */
export const STATE = '/paddock-state';

/** What a call leaves that the next one has to finish. */
export const JOURNALS = ['journal', 'commit'];

/** Where the state directories of all workspaces are: that of the Rust host. */
export function stateParent() {
  const absolute = (/** @type {string | undefined} */ path) => (path && isAbsolute(path) ? path : undefined);
  const { PADDOCK_STATE_DIR, XDG_STATE_HOME } = process.env;
  const inHome = () => join(absolute(XDG_STATE_HOME) ?? join(homedir(), '.local/state'), 'paddock');
  return absolute(PADDOCK_STATE_DIR) ?? inHome();
}

/**
 * The state directory of a workspace; none where the caller wants none.
 *
 * @param {string} root The workspace's real path.
 * @param {string | false} [wanted]
 */
export function stateDirectory(root, wanted) {
  if (wanted === false) return undefined;
  if (wanted !== undefined) return resolve(wanted);
  return join(stateParent(), createHash('sha256').update(root).digest('hex').slice(0, 16));
}

/**
 * Makes it, for its owner alone. Where it cannot be made, calls go without.
 *
 * @param {string} directory
 */
export function createState(directory) {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch {
    // Whether it is there now is what counts.
  }
  return hasState(directory);
}

/** @param {string} directory */
export function hasState(directory) {
  return statSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** @param {string} directory Whether a call left a journal, which the next one finishes or undoes. */
export function hasJournal(directory) {
  return JOURNALS.some((name) => existsSync(join(directory, name)));
}
