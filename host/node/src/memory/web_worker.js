/** The worker's own side: what it is first sent says what it works on, and the rest are calls. */

import { MemoryHost } from './host.js';

/** @type {MemoryHost | undefined} */
let host;

addEventListener('message', ({ data }) => {
  if (host) postMessage(host.run(data));
  else host = new MemoryHost(data.modules, data.setup);
});
