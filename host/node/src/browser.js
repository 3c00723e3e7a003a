/** Paddock in the browser: workspaces in memory, in a worker of their own. */

import { MemoryHost } from './memory/host.js';
import { webThread } from './memory/web_thread.js';
import { MemoryWorkspace } from './memory/workspace.js';
import { modules as urls } from '../component/modules.js';
import { PaddockError, toolError } from './errors.js';
import { limitMemory } from './memory_limit.js';

export { PaddockError } from './errors.js';
export { unwrap } from './outcome.js';
export { MemoryWorkspace };

/** Workspaces in memory. */
export class Workspace {
  /**
   * An empty workspace in memory. Without `thread`, calls are made in the page's own thread, and nothing can end them.
   *
   * @param {import('./memory/workspace.js').MemoryOptions} [options]
   */
  static memory(options = {}) {
    return MemoryWorkspace.create(options, loadModules, (modules, setup, inThread) => {
      if (inThread) return webThread(modules, setup);
      const host = new MemoryHost(modules, setup);
      return { run: async (job) => host.run(job), end: () => host.close() };
    });
  }
}

/** @param {number} memory What a guest may have, in bytes. @returns {Promise<import('./guest.js').Modules>} */
async function loadModules(memory) {
  const compile = async (/** @type {[string, URL]} */ [name, url]) => {
    const module = await WebAssembly.compile(/** @type {any} */ (limitMemory(await fetched(url), memory)));
    return /** @type {const} */ ([name, module]);
  };
  return new Map(await Promise.all(Object.entries(urls).map(compile)));
}

/** @param {URL} url */
async function fetched(url) {
  const response = await fetch(url);
  if (!response.ok) throw new PaddockError(toolError('io', `cannot load the component from \`${url}\`: ${response.status} ${response.statusText}`));
  return new Uint8Array(await response.arrayBuffer());
}
