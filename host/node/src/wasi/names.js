/** Names of what is in a directory. */

/** What no name holds; a backslash leads into a directory on Windows alone. */
const SEPARATORS = process.platform === 'win32' ? /[/\\\0]/ : /[/\0]/;

/**
 * Refuses what is not one plain name, before the system is asked anything: a path could lead out of the directory.
 *
 * @param {string} name
 */
export function checkName(name) {
  if (name === '' || name === '.' || name === '..' || SEPARATORS.test(name)) throw 'not-permitted';
}
