/** The component as the package has it: what needs it is loaded late, so that its absence can be told. */

import { readFile } from 'node:fs/promises';
import { PaddockError, toolError } from '../errors.js';
import { modulesBy } from '../modules.js';

/** The component's core modules. */
export const loadModules = modulesBy(
  async () => (await present(import('../../component/modules.js'))).modules,
  (url) => present(readFile(url)),
);

/**
 * What makes hosts: each in a thread of its own, or in this one.
 *
 * @param {boolean} inThread
 * @returns {Promise<(setup: import('./thread.js').Setup) => import('../pool.js').Thread>}
 */
export async function starter(inThread) {
  if (inThread) return (await import('./thread.js')).thread;
  return (await present(import('./here.js'))).here;
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
