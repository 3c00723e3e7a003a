/** The side of the worker: the first message has the setup, and each later message is a call. */

import { MemoryHost } from './host.js';

/** @type {MemoryHost | undefined} */
let host;

addEventListener('message', ({ data }) => {
  if (host) postMessage(host.run(data));
  else host = new MemoryHost(data.modules, data.setup);
});
