/** The component's core modules, compiled once for each memory limit. */

import { modules as urls } from '../component/modules.js';
import { limitMemory } from './memory_limit.js';

/** @typedef {(memory: number) => Promise<import('./guest.js').Modules>} LoadModules With what a guest may have, in bytes. */

/**
 * @param {(url: URL) => Promise<Uint8Array>} read
 * @returns {LoadModules}
 */
export function modulesBy(read) {
  /** @type {Map<number, Promise<import('./guest.js').Modules>>} */
  const compiled = new Map();
  return (memory) => {
    let modules = compiled.get(memory);
    if (!modules) {
      modules = compileAll(read, memory);
      compiled.set(memory, modules);
      modules.catch(() => compiled.delete(memory));
    }
    return modules;
  };
}

/** @param {(url: URL) => Promise<Uint8Array>} read @param {number} memory */
async function compileAll(read, memory) {
  const compile = async (/** @type {[string, URL]} */ [name, url]) => {
    const module = await WebAssembly.compile(/** @type {any} */ (limitMemory(await read(url), memory)));
    return /** @type {const} */ ([name, module]);
  };
  return new Map(await Promise.all(Object.entries(urls).map(compile)));
}
