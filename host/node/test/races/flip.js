/**
 * Swaps, until it is ended: the directory `d` with a link to `outside`, and the file `l` with a link to a file there.
 * Usage: node flip.js DIRECTORY
 */

import { renameSync, rmSync } from 'node:fs';

process.chdir(process.argv[2]);
process.send?.('started');
for (;;) {
  renameSync('ws/d', 'ws/real');
  put('link', 'ws/d');
  renameSync('file-link', 'ws/l');
  renameSync('ws/d', 'link');
  put('ws/real', 'ws/d');
  renameSync('ws/l', 'file-link');
  renameSync('file', 'ws/l');
  renameSync('ws/l', 'file');
}

/** A call that writes below a directory that is not there just then makes one. */
function put(from, to) {
  for (;;) {
    try {
      renameSync(from, to);
      return;
    } catch {
      rmSync(to, { recursive: true, force: true });
    }
  }
}
