#!/usr/bin/env node
/** The command `paddock` of the package: the native program if there is one for this system, otherwise this host. */

import { spawn } from 'node:child_process';
import { nativeProgram } from './native.js';

/** Signals that end the native program too. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** Runs the native program with the arguments and the standard streams of this process. @param {string} program */
function run(program) {
  // A handler keeps this process until the program has ended. It is there before the program is: a signal between the
  // two would end this process and leave the program.
  const forward = /** @param {NodeJS.Signals} signal */ (signal) => void child.kill(signal);
  const stopForwarding = () => SIGNALS.forEach((signal) => process.off(signal, forward));
  SIGNALS.forEach((signal) => process.on(signal, forward));
  const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
  child.on('error', (cause) => {
    stopForwarding();
    process.stderr.write(`paddock: cannot run the native program, so the tools run in Node: ${cause.message}\n`);
    import('./cli.js');
  });
  child.on('exit', (status, signal) => {
    stopForwarding();
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = status ?? 1;
  });
}

const program = nativeProgram();
if (program === undefined) await import('./cli.js');
else run(program);
