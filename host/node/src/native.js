/** The native program: one package per platform contains it, as an optional dependency of this package. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/** Returns the path of the native program for this system, or `undefined` without the package of the same version. */
export function nativeProgram() {
  const name = `@paddock-files/${process.platform}-${process.arch}`;
  try {
    const manifest = require.resolve(`${name}/package.json`);
    return isSameVersion(manifest) ? join(dirname(manifest), process.platform === 'win32' ? 'paddock.exe' : 'paddock') : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} manifest */
function isSameVersion(manifest) {
  /** @param {string | URL} path @returns {string} */
  const version = (path) => JSON.parse(readFileSync(path, 'utf8')).version;
  return version(manifest) === version(new URL('../package.json', import.meta.url));
}
