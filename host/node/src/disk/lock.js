/**
 * The lock of a workspace, next to its journals. A call that changes files holds it.
 *
 * Node cannot lock a file. If the system has `flock(1)`, this program locks the file that this process holds open: it
 * is the lock that the Rust host takes, and it ends with the process. Without `flock`, a file that names the holder
 * serves as the lock, which other hosts do not see.
 */

import { spawnSync } from 'node:child_process';
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { toolError } from '../errors.js';
import { NEVER_WAIT } from '../wasi/flags.js';

/** Paths of the program in distributions. `PATH` is not used, because it can be set by another program. */
const FLOCK = ['/usr/bin/flock', '/bin/flock', '/usr/local/bin/flock'].find((path) => existsSync(path));

/** Interval at which a held lock is tried again, in milliseconds. */
const RETRY = 5;

/** Exit status of `flock` for a lock that another process holds. */
const HELD = 1;

/** Flags that create the file if it does not exist, and follow no link. */
const LOCK = constants.O_WRONLY | constants.O_CREAT | NEVER_WAIT;

/** @typedef {() => void} Release */
/** @typedef {import('../wasi/directory.js').Directory} Directory */

/**
 * Takes the lock, and waits while another call changes the workspace.
 *
 * @param {Directory} directory The state directory.
 * @param {number} deadline By `performance.now()`.
 * @param {string} holder Names this thread, for systems without `flock`.
 * @returns {Release}
 */
export function lock(directory, deadline, holder) {
  try {
    return FLOCK ? byDescriptor(FLOCK, directory.entry('lock'), deadline) : byHolder(directory.entry('lock.holder'), deadline, holder);
  } catch (cause) {
    const { code, message } = /** @type {any} */ (cause);
    if (code === 'limit-exceeded') throw cause;
    throw toolError('io', `cannot lock the workspace: ${message}`, 'the person who runs this has to check the state directory');
  }
}

/** @param {string} program @param {string} path @param {number} deadline @returns {Release} */
function byDescriptor(program, path, deadline) {
  const fd = openSync(path, LOCK, 0o600);
  try {
    if (!fstatSync(fd).isFile()) throw new Error('the lock is not a file');
    for (;;) {
      // The lock belongs to the open file, which the child shares. It remains when the child has ended.
      const { status, error } = spawnSync(program, ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd], env: {} });
      if (status === 0) return () => closeSync(fd);
      if (status !== HELD) throw error ?? new Error(`flock ended with ${status}`);
      wait(deadline);
    }
  } catch (cause) {
    closeSync(fd);
    throw cause;
  }
}

/** Takes the lock on systems without `flock`. @param {string} path @param {number} deadline @param {string} holder @returns {Release} */
export function byHolder(path, deadline, holder) {
  for (;;) {
    try {
      writeFileSync(path, holder, { flag: 'wx', mode: 0o600 });
      return () => unlinkSync(path);
    } catch (cause) {
      if (/** @type {any} */ (cause).code !== 'EEXIST') throw cause;
    }
    if (!removeStale(path)) wait(deadline);
  }
}

/**
 * Removes the lock of a process that has ended. Two callers at once rename it to two names, and put back a lock in use.
 *
 * @param {string} path
 */
function removeStale(path) {
  const holder = holderIn(path);
  if (holder === undefined || isAlive(holder)) return false;
  const aside = `${path}.${crypto.randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch {
    return true;
  }
  if (holderIn(aside) === holder) unlinkSync(aside);
  else renameSync(aside, path);
  return true;
}

/**
 * Removes the lock of a thread of this process that was ended.
 *
 * @param {() => Directory | undefined} find The state directory, if it exists.
 * @param {string} holder
 */
export function release(find, holder) {
  if (FLOCK) return;
  try {
    const path = find()?.entry('lock.holder');
    if (path && holderIn(path) === holder) unlinkSync(path);
  } catch {
    // The directory was deleted, and the lock with it.
  }
}

/** @param {string} path */
function holderIn(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** @param {string} holder Starts with the number of its process. */
function isAlive(holder) {
  try {
    process.kill(Number.parseInt(holder, 10), 0);
    return true;
  } catch (cause) {
    return /** @type {any} */ (cause).code !== 'ESRCH';
  }
}

const clock = new Int32Array(new SharedArrayBuffer(4));

/** @param {number} deadline */
function wait(deadline) {
  if (performance.now() >= deadline) {
    throw toolError('limit-exceeded', 'another process is changing this workspace', 'call again when it has finished; nothing was changed');
  }
  Atomics.wait(clock, 0, 0, RETRY);
}
