/** Paths, name by name. */

/** @typedef {import('./directory.js').Directory} Directory */

/** @param {string} path Whether it is one name, which cannot lead out of its directory. */
export function isName(path) {
  return path !== '' && path !== '.' && path !== '..' && !path.includes('/');
}

/**
 * Calls `act` with the directory that holds the last name of `path`, and that name. No link on the way is followed.
 *
 * @template T
 * @param {Directory} dir
 * @param {string} path
 * @param {(dir: Directory, name: string) => T} act
 * @returns {T}
 */
export function walk(dir, path, act) {
  if (path === '') throw 'no-entry';
  const names = path.split('/');
  if (names[0] === '' || names.includes('..')) throw 'not-permitted';
  // After a last slash it is the directory itself.
  const last = names.pop() || '.';
  /** @type {Directory[]} */
  const opened = [];
  try {
    for (const name of names.filter((name) => name !== '' && name !== '.')) {
      dir = dir.open(name);
      opened.push(dir);
    }
    return act(dir, last);
  } finally {
    for (const each of opened) each.close();
  }
}
