/** The component's core modules, compiled once for each memory limit. */

import { limitMemory } from './memory_limit.js';

/** @typedef {(memory: number) => Promise<import('./guest.js').Modules>} LoadModules With what a guest may have, in bytes. */

/** @typedef {() => Promise<Record<string, URL>>} List Where they are. */
/** @typedef {(url: URL) => Promise<Uint8Array>} Read */

/** @param {List} list @param {Read} read @returns {LoadModules} */
export function modulesBy(list, read) {
  /** @type {Map<number, Promise<import('./guest.js').Modules>>} */
  const compiled = new Map();
  return (memory) => {
    let modules = compiled.get(memory);
    if (!modules) {
      modules = compileAll(list, read, memory);
      compiled.set(memory, modules);
      modules.catch(() => compiled.delete(memory));
    }
    return modules;
  };
}

/** @param {List} list @param {Read} read @param {number} memory */
async function compileAll(list, read, memory) {
  const compile = async (/** @type {[string, URL]} */ [name, url]) => {
    const module = await WebAssembly.compile(/** @type {any} */ (limitMemory(await read(url), memory)));
    return /** @type {const} */ ([name, module]);
  };
  return new Map(await Promise.all(Object.entries(await list()).map(compile)));
}
