/**
 * The directories of the race: a workspace, the entries that are swapped into it, the files outside, and the swapping
 * process.
 */

import assert from 'node:assert/strict';
import { execFileSync, fork } from 'node:child_process';
import { closeSync, constants, existsSync, lstatSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CANARY = 'CANARY-8d0f36a1c47e';
/** Name of a file that exists only outside. */
export const ONLY_OUTSIDE = 'only-outside-2f9b';

/** Paths that are never swapped. */
const STORED = ['state', 'ws/copied', 'ws/copied-link', 'ws/moved'];

export class Arena {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'paddock-races-')));
  #outside;
  #flipper;

  constructor() {
    for (const directory of ['ws/d', 'ws/x', 'outside/t', 'spare', 'state']) mkdirSync(this.at(directory), { recursive: true });
    for (const name of ['f', 'g', 'm', 'v', 'w', 'c', 't/x', ONLY_OUTSIDE]) writeFileSync(this.at('outside', name), CANARY);
    for (const name of ['d/f', 'd/g', 'd/m', 'x/f', 'x/g', 'l', 'p', 'a', 'b', 'plain']) writeFileSync(this.at('ws', name), 'inside\n');
    for (const name of ['spare/link', 'ws/y']) symlinkSync('../outside', this.at(name));
    execFileSync('mkfifo', [this.at('spare/fifo')]);
    this.#outside = snapshot(this.at('outside'));
  }

  at(...names) {
    return join(this.top, ...names);
  }

  async start() {
    this.#flipper = fork(fileURLToPath(new URL('flip.js', import.meta.url)), [this.top]);
    await new Promise((resolve) => this.#flipper.once('message', resolve));
  }

  /** Ends the swapping process, which must still run. */
  async stop() {
    const { exitCode } = this.#flipper;
    const gone = new Promise((resolve) => this.#flipper.once('exit', resolve));
    if (this.#flipper.kill('SIGKILL')) await gone;
    assert.equal(exitCode, null, 'nothing was swapped any more');
  }

  remove() {
    // A process that waits at the FIFO could not be ended.
    closeSync(openSync(this.at('spare/fifo'), constants.O_RDWR | constants.O_NONBLOCK));
    rmSync(this.top, { recursive: true });
  }

  /** Fails if anything outside has changed. */
  checkOutside() {
    assert.deepEqual(snapshot(this.at('outside')), this.#outside, 'something outside was changed');
  }

  /** Fails if content from outside is in the backups, or was copied or moved to a name that is not swapped. */
  checkStored() {
    for (const name of STORED) if (existsSync(this.at(name))) check(this.at(name));
  }

  /** Fails if content from outside is anywhere in the workspace, after the swapping has ended. */
  checkInside() {
    for (const name of ['ws', 'spare']) check(this.at(name));
  }
}

function check(path) {
  for (const [name, { content }] of Object.entries(snapshot(path))) {
    assert.ok(!content?.includes(CANARY), `${name} holds what was outside`);
    assert.ok(!name.includes(ONLY_OUTSIDE), `${name} was outside`);
  }
}

/** Returns the mode, modification time and content of an entry and of all entries below it. */
function snapshot(path) {
  const stat = lstatSync(path, { bigint: true });
  const below = stat.isDirectory() ? readdirSync(path).map((name) => snapshot(join(path, name))) : [];
  const content = stat.isFile() ? readFileSync(path, 'latin1') : undefined;
  return Object.assign({ [path]: { mode: stat.mode, changed: stat.mtimeNs, content } }, ...below);
}
