/** A host on the caller's thread, where nothing can end a call. */

import { MemoryHost } from '../memory/host.js';
import { DiskHost } from './host.js';

/** @param {import('./thread.js').Setup} setup @returns {import('../pool.js').Thread} */
export function here({ modules, disk, directories, memory }) {
  if (!disk || !directories) {
    const host = new MemoryHost(modules, /** @type {any} */ (memory));
    return { run: async (job) => host.run(job), end: () => host.close() };
  }
  const host = new DiskHost(modules, disk);
  return { run: async (job) => onDisk(host, directories, job), end: directories.use() };
}

/**
 * @param {DiskHost} host
 * @param {import('./directories.js').Directories} directories
 * @param {import('../perform.js').Job} job
 */
function onDisk(host, directories, job) {
  host.state = directories.state?.find();
  const result = host.run(job);
  if (!result.isUnprepared) return result;
  const { state, error } = directories.makeState();
  if (error) return { error };
  host.state = state;
  return host.run(job);
}
