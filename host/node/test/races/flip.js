/**
 * Swaps names, as fast as it can, until whoever started it ends: a directory for a link to one outside, a directory for
 * a link beside it, two files, a file for a link to one outside, a file for a FIFO.
 * Usage: node flip.js DIRECTORY
 */

import { linkSync, renameSync, rmSync, symlinkSync } from 'node:fs';

process.chdir(process.argv[2]);
const parent = process.ppid;
process.send?.('started');
while (process.ppid === parent) {
  cover('ws/l', (made) => symlinkSync('../outside/f', made));
  cover('ws/p', (made) => linkSync('spare/fifo', made));
  exchangeAll();
  uncover('ws/l');
  uncover('ws/p');
  exchangeAll();
}

function exchangeAll() {
  exchange('ws/d', 'spare/link');
  exchange('ws/x', 'ws/y');
  exchange('ws/a', 'ws/b');
}

/** In three steps, since Node has no call that does it at once. */
function exchange(one, other) {
  put(one, 'spare/between');
  put(other, one);
  put('spare/between', other);
}

/** Puts something in the place of a file, at once. It is made each time, since a call may write over it. */
function cover(file, make) {
  make('spare/made');
  linkSync(file, keptOf(file));
  renameSync('spare/made', file);
}

function uncover(file) {
  renameSync(keptOf(file), file);
}

function keptOf(file) {
  return file.replace('ws', 'spare');
}

/** A call that writes below a directory that is not there just then makes one, which would be in the way. */
function put(from, to) {
  for (;;) {
    try {
      return renameSync(from, to);
    } catch (error) {
      if (error.code === 'ENOENT') throw error;
      remove(to);
    }
  }
}

function remove(path) {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The call went on to write there.
  }
}
