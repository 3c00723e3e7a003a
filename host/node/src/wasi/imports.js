/** The imports of the component: WASI 0.2, with directories, an environment, clocks and random numbers. */

import { monotonicClock, wallClock } from './clocks.js';
import { InputStream, OutputStream, error, pollInterface, streams } from './io.js';

/** Thrown if the guest calls `exit`. */
export class Exit extends Error {}

/**
 * The file system of the guest.
 *
 * @typedef {object} Filesystem
 * @property {Record<string, any>} types `wasi:filesystem/types`.
 * @property {() => [any, string][]} getDirectories Returns the preopened directories with their guest paths.
 */

/**
 * @param {[string, string][]} environment
 * @param {Filesystem} filesystem
 * @param {OutputStream} stderr
 */
export function imports(environment, filesystem, stderr) {
  const exit = () => {
    throw new Exit('the component ended itself');
  };
  return {
    'wasi:cli/environment': { getEnvironment: () => environment, getArguments: () => [], initialCwd: () => undefined },
    'wasi:cli/exit': { exit, exitWithCode: exit },
    'wasi:cli/stdin': { getStdin: () => new InputStream() },
    'wasi:cli/stdout': { getStdout: () => new OutputStream() },
    'wasi:cli/stderr': { getStderr: () => stderr },
    'wasi:cli/terminal-input': { TerminalInput: class {} },
    'wasi:cli/terminal-output': { TerminalOutput: class {} },
    'wasi:cli/terminal-stdin': { getTerminalStdin: () => undefined },
    'wasi:cli/terminal-stdout': { getTerminalStdout: () => undefined },
    'wasi:cli/terminal-stderr': { getTerminalStderr: () => undefined },
    'wasi:clocks/monotonic-clock': monotonicClock,
    'wasi:clocks/wall-clock': wallClock,
    'wasi:filesystem/preopens': { getDirectories: filesystem.getDirectories },
    'wasi:filesystem/types': filesystem.types,
    'wasi:io/error': error,
    'wasi:io/poll': pollInterface,
    'wasi:io/streams': streams,
    'wasi:random/insecure-seed': { insecureSeed: () => [random64(), random64()] },
    'wasi:random/random': { getRandomBytes: randomBytes, getRandomU64: random64 },
  };
}

/** Maximum bytes of one call of the system. */
const AT_ONCE = 65_536;

/** @param {bigint} length */
function randomBytes(length) {
  const bytes = new Uint8Array(Number(length));
  for (let at = 0; at < bytes.length; at += AT_ONCE) crypto.getRandomValues(bytes.subarray(at, at + AT_ONCE));
  return bytes;
}

function random64() {
  return crypto.getRandomValues(new BigUint64Array(1))[0];
}
