/**
 * Swaps names as fast as possible, until its parent ends: a directory and a link to one outside, a directory and a link
 * to one next to it, two files, a file and a link to one outside, a file and a FIFO. Usage: node flip.js DIRECTORY
 */

import { linkSync, renameSync, rmSync, symlinkSync } from 'node:fs';

process.chdir(process.argv[2]);
const parent = process.ppid;
process.send?.('started');
while (process.ppid === parent) {
  cover('ws/l', (link) => symlinkSync('../outside/f', link));
  cover('ws/p', (link) => linkSync('spare/fifo', link));
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

/** Exchanges two names in three renames, because Node has no call that exchanges them. */
function exchange(one, other) {
  put(one, 'spare/between');
  put(other, one);
  put('spare/between', other);
}

/** Replaces a file by another entry in one rename. The entry is created each time, because a call may write to it. */
function cover(file, make) {
  make('spare/made');
  linkSync(file, storedCopyOf(file));
  renameSync('spare/made', file);
}

function uncover(file) {
  renameSync(storedCopyOf(file), file);
}

function storedCopyOf(file) {
  return file.replace('ws', 'spare');
}

/** A call that writes below a missing directory creates the directory, which would be in the way. */
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
    // The call has written to the directory in the meantime.
  }
}
