/** A worker of the browser that runs a host. */

/**
 * @param {import('../guest.js').Modules} modules
 * @param {import('./host.js').MemorySetup} setup
 * @returns {import('../pool.js').Thread}
 */
export function webThread(modules, setup) {
  const worker = new Worker(new URL('./web_worker.js', import.meta.url), { type: 'module' });
  /** @type {{resolve: (done: import('../perform.js').JobResult) => void, reject: (cause: Error) => void} | undefined} */
  let waiting;
  worker.onmessage = ({ data }) => waiting?.resolve(data);
  worker.onerror = ({ message }) => waiting?.reject(new Error(message));
  worker.postMessage({ modules, setup });
  return {
    run(job) {
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        worker.postMessage(job);
      });
    },
    end() {
      worker.terminate();
      waiting?.reject(new Error('it was stopped'));
    },
  };
}
