/** The component in the package. Modules that need it are loaded late, so that a missing component is reported. */

import { readFile } from 'node:fs/promises';
import { PaddockError, toolError } from '../errors.js';
import { modulesBy } from '../modules.js';

/** The component's core modules. */
export const loadModules = modulesBy(
  async () => (await present(import('../../component/modules.js'))).modules,
  (url) => present(readFile(url)),
);

/**
 * Returns the function that starts hosts, each on a worker thread or on this thread.
 *
 * @param {boolean} inThread
 * @returns {Promise<(setup: import('./thread.js').Setup) => import('../pool.js').Thread>}
 */
export async function starter(inThread) {
  if (inThread) return (await import('./thread.js')).thread;
  return (await present(import('./here.js'))).here;
}

/**
 * Returns whether the component reads modes from the hash of a file's metadata. An older component does not know
 * `keeps_modes`, and refuses a policy that has it.
 *
 * @param {import('../guest.js').Modules} modules
 */
export function needsModes(modules) {
  const imported = [...modules.values()].flatMap((module) => WebAssembly.Module.imports(module));
  return imported.some(({ name }) => name === '[method]descriptor.metadata-hash-at');
}

/**
 * @template T
 * @param {Promise<T>} loading
 */
async function present(loading) {
  try {
    return await loading;
  } catch (cause) {
    const hint = 'install the package again; in a clone of the repository, run `npm run build` in `host/node`';
    throw new PaddockError(toolError('io', `cannot load the component: ${/** @type {Error} */ (cause).message}`, hint));
  }
}
