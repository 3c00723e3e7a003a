#!/usr/bin/env node
/** The command `paddock` of the package: the native program if there is one for this system, otherwise this host. */

import { spawn } from 'node:child_process';
import { nativeProgram } from './native.js';

/** Signals that end the native program too. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** Runs the native program with the arguments and the standard streams of this process. @param {string} program */
function run(program) {
  const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
  child.on('error', (cause) => {
    process.stderr.write(`paddock: cannot run the native program, so the tools run in Node: ${cause.message}\n`);
    import('./cli.js');
  });
  // A handler keeps this process until the program has ended.
  const forward = /** @param {NodeJS.Signals} signal */ (signal) => void child.kill(signal);
  child.on('spawn', () => SIGNALS.forEach((signal) => process.on(signal, forward)));
  child.on('exit', (status, signal) => {
    SIGNALS.forEach((name) => process.off(name, forward));
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = status ?? 1;
  });
}

const program = nativeProgram();
if (program === undefined) await import('./cli.js');
else run(program);
