/** The worker's side: makes the calls that it receives, one after the other. */

import { parentPort, workerData } from 'node:worker_threads';
import { MemoryHost } from '../memory/host.js';
import { DiskHost } from './host.js';

// System failures are reported by their codes, so stack traces are not needed.
Error.stackTraceLimit = 0;

/** @type {import('./thread.js').Setup} */
const { modules, disk, memory } = workerData;
const host = disk ? new DiskHost(modules, disk) : new MemoryHost(modules, /** @type {any} */ (memory));

parentPort?.on('message', (/** @type {import('./thread.js').Message} */ message) => {
  if ('state' in message && host instanceof DiskHost) host.state = message.state;
  parentPort?.postMessage(host.run(message.job));
});
