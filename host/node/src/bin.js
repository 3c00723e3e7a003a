#!/usr/bin/env node
/** The command `paddock` of the package: the native program if there is one for this system, otherwise this host. */

import { spawn } from 'node:child_process';
import { nativeProgram } from './native.js';

/** Signals that end the native program too. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);

/** Runs the native program with the arguments and the standard streams of this process. @param {string} program */
function run(program) {
  // A handler keeps this process until the program has ended. It is there before the program is: a signal between the
  // two would end this process and leave the program.
  const forward = /** @param {NodeJS.Signals} signal */ (signal) => void child?.kill(signal);
  const stopForwarding = () => SIGNALS.forEach((signal) => process.off(signal, forward));
  const fail = /** @param {any} cause */ (cause) => {
    stopForwarding();
    runInNode(`the native program cannot be run: ${cause.message}`);
  };
  SIGNALS.forEach((signal) => process.on(signal, forward));
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;
  try {
    child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
  } catch (cause) {
    // Some errors of the system are thrown, and the others are events.
    return fail(cause);
  }
  child.on('error', fail);
  child.on('exit', (status, signal) => {
    stopForwarding();
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = status ?? 1;
  });
}

/** @param {string} [problem] Why there is no native program to run. A person has to know, because the hosts differ. */
function runInNode(problem) {
  if (problem !== undefined) process.stderr.write(`paddock: the tools run in Node: ${problem}\n`);
  return import('./cli.js');
}

const { program, problem } = nativeProgram();
if (program === undefined) await runInNode(problem);
else run(program);
