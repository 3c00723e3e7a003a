/** The baseline: the same work as plain Node code with `fs`, a walk and a RegExp. */

import { lstatSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param {string} path */
export function read(path) {
  return readFileSync(path, 'utf8');
}

/** @param {string} path @param {string} old @param {string} next */
export function edit(path, old, next) {
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(old, next));
}

/** @param {string} directory */
export function list(directory) {
  return readdirSync(directory).sort().map((name) => {
    const stat = lstatSync(join(directory, name));
    return { name, size: stat.size, isDirectory: stat.isDirectory() };
  });
}

/**
 * Yields the files below a directory, except hidden ones.
 *
 * @param {string} directory
 * @returns {Generator<string>}
 * /
 */
function* walk(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.name.startsWith('.')) continue;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) yield* walk(path);
    else if (entry.isFile()) yield path;
  }
}

/** @param {string} directory @param {RegExp} name */
export function glob(directory, name) {
  return [...walk(directory)].filter((path) => name.test(path)).sort();
}

/** @param {string} directory @param {RegExp} pattern The number of lines that match. */
export function grep(directory, pattern) {
  let count = 0;
  for (const path of walk(directory)) {
    for (const line of readFileSync(path, 'utf8').split('\n')) count += pattern.test(line) ? 1 : 0;
  }
  return count;
}
