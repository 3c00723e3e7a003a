/** A host in the thread that asks for it: nothing can end a call there. */

import { MemoryHost } from '../memory/host.js';
import { DiskHost } from './host.js';

/** @param {import('./thread.js').Setup} setup @returns {import('../pool.js').Thread} */
export function here({ modules, disk, memory }) {
  const host = disk ? new DiskHost(modules, disk) : new MemoryHost(modules, /** @type {any} */ (memory));
  return { run: async (job) => host.run(job), end: () => host.close() };
}
