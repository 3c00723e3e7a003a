/** A thread of Node that runs a host. */

import { Worker } from 'node:worker_threads';
import { release } from './lock.js';

/** @typedef {{modules: import('../guest.js').Modules, disk?: import('./host.js').DiskSetup, memory?: import('../memory/host.js').MemorySetup}} Setup */

/** @param {Setup} setup @returns {import('../pool.js').Thread} */
export function thread(setup) {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: setup, env: {} });
  /** @type {{resolve: (done: import('../perform.js').Done) => void, reject: (cause: Error) => void} | undefined} */
  let waiting;
  // An idle thread does not keep the process.
  worker.unref();
  worker.on('message', (done) => {
    worker.unref();
    waiting?.resolve(done);
  });
  worker.on('error', (cause) => waiting?.reject(cause));
  worker.on('exit', () => waiting?.reject(new Error('it was stopped')));
  return {
    run(job) {
      worker.ref();
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        worker.postMessage(job);
      });
    },
    end() {
      const { disk } = setup;
      worker.terminate().then(() => {
        if (disk?.state !== undefined) release(disk.state, disk.holder);
      });
    },
  };
}
