/** Paddock in the browser: workspaces in memory, in a worker of their own. */

import { modules as urls } from '../component/modules.js';
import { MemoryHost } from './memory/host.js';
import { webThread } from './memory/web_thread.js';
import { MemoryWorkspace } from './memory/workspace.js';
import { PaddockError, toolError } from './errors.js';
import { modulesBy } from './modules.js';

export { PaddockError } from './errors.js';
export { unwrap } from './outcome.js';
export { MemoryWorkspace };

/** Workspaces in memory. */
export class Workspace {
  /**
   * Creates an empty workspace in memory. Without `thread`, calls run on the page's own thread, and nothing can end them.
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

/** @param {URL} url */
async function fetched(url) {
  const response = await fetch(url);
  if (!response.ok) throw new PaddockError(toolError('io', `cannot load the component from \`${url}\`: ${response.status} ${response.statusText}`));
  return new Uint8Array(await response.arrayBuffer());
}

const loadModules = modulesBy(async () => urls, fetched);
