/** Names of directory entries. */

/** Characters that no name contains; a backslash is a separator only on Windows. */
const SEPARATORS = process.platform === 'win32' ? /[/\\\0]/ : /[/\0]/;

/**
 * Refuses everything except one plain name, before any system call, because a path could lead out of the directory.
 *
 * @param {string} name
 */
export function checkName(name) {
  if (name === '' || name === '.' || name === '..' || SEPARATORS.test(name)) throw 'not-permitted';
}
