/** A worker thread of Node that runs a host. */

import { Worker } from 'node:worker_threads';
import { release } from './lock.js';

/**
 * Configuration of a host. The directories stay with the thread that opened them.
 *
 * @typedef {object} Setup
 * @property {import('../guest.js').Modules} modules
 * @property {import('./host.js').DiskSetup} [disk]
 * @property {import('./directories.js').Directories} [directories]
 * @property {import('../memory/host.js').MemorySetup} [memory]
 */

/** A call, with the state directory if it has changed since the last call. @typedef {{job: import('../perform.js').Job, state?: import('./host.js').FoundState}} Message */

/** @param {Setup} setup @returns {import('../pool.js').Thread} */
export function thread({ modules, disk, directories, memory }) {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: { modules, disk, memory }, env: {} });
  /** @type {{job: import('../perform.js').Job, resolve: (done: import('../perform.js').JobResult) => void, reject: (cause: Error) => void} | undefined} */
  let waiting;
  /** @type {import('./host.js').FoundState} */
  let known;
  const send = (/** @type {import('../perform.js').Job} */ job, /** @type {import('./host.js').FoundState} */ state) => {
    worker.postMessage(state === known ? { job } : { job, state });
    known = state;
  };
  // An idle thread does not keep the process alive.
  worker.unref();
  worker.on('message', (/** @type {import('../perform.js').JobResult} */ result) => {
    if (result.isUnprepared && directories && waiting) {
      const { state, error } = directories.makeState();
      if (!error) return send(waiting.job, state);
      result = { error };
    }
    worker.unref();
    waiting?.resolve(result);
  });
  worker.on('error', (cause) => waiting?.reject(cause));
  worker.on('exit', () => waiting?.reject(new Error('it was stopped')));
  // The thread may use a descriptor until it has ended, so the number must not be reused before that.
  const free = directories?.use();
  worker.on('exit', () => {
    if (disk) release(() => directories?.stateDirectory(), disk.holder);
    free?.();
  });
  return {
    run(job) {
      worker.ref();
      return new Promise((resolve, reject) => {
        waiting = { job, resolve, reject };
        send(job, directories?.state?.find());
      });
    },
    end() {
      worker.terminate();
    },
  };
}
