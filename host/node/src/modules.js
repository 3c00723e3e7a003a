/** The component's core modules, compiled once for each memory limit. */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { modules as urls } from '../component/modules.js';
import { PaddockError, toolError } from './errors.js';
import { limitMemory } from './memory_limit.js';

/** @type {Map<number, Promise<import('./guest.js').Modules>>} */
const compiled = new Map();

/**
 * @param {number} memory What a guest may have, in bytes.
 * @returns {Promise<import('./guest.js').Modules>}
 */
export function loadModules(memory) {
  let modules = compiled.get(memory);
  if (!modules) {
    modules = compileAll(memory);
    compiled.set(memory, modules);
    modules.catch(() => compiled.delete(memory));
  }
  return modules;
}

/** @param {number} memory */
async function compileAll(memory) {
  const compile = async (/** @type {[string, URL]} */ [name, url]) => {
    const module = await WebAssembly.compile(/** @type {any} */ (limitMemory(await read(url), memory)));
    return /** @type {const} */ ([name, module]);
  };
  return new Map(await Promise.all(Object.entries(urls).map(compile)));
}

/** @param {URL} url */
async function read(url) {
  try {
    return await readFile(url);
  } catch (cause) {
    const hint = 'install the package again; in a clone of the repository, run `npm run build` in `host/node`';
    throw new PaddockError(toolError('io', `cannot load the component from \`${fileURLToPath(url)}\`: ${/** @type {Error} */ (cause).message}`, hint));
  }
}
