/** The component as jco generates it, on jco's shim and without code of this host. */

import { readFile } from 'node:fs/promises';
import { filesystem } from '@bytecodealliance/preview2-shim';
import { WASIShim } from '@bytecodealliance/preview2-shim/instantiation';

/**
 * Returns a function that calls tools over a directory.
 *
 * @param {string} directory
 * /
 */
export async function stock(directory) {
  const { modules } = await import('../component/modules.js');
  const { instantiate } = await import('../component/paddock.js');
  const compiled = new Map();
  for (const [name, url] of Object.entries(modules)) compiled.set(name, await WebAssembly.compile(await readFile(url)));
  const shim = new WASIShim({ sandbox: { preopens: { '/workspace': directory }, env: {}, args: [] } });
  const { tools } = instantiate((name) => compiled.get(name), shim.getImportObject());
  return (tool, args) => tools.call('paddock', tool, args);
}

/**
 * Returns the two ways in which WASI reads a file: at an offset, as the component does, and as a stream, which the shim
 * reads on another thread.
 *
 * @param {string} directory That has a file `4k.txt`.
 * /
 */
export async function reads(directory) {
  filesystem._setPreopens({ '/workspace': directory });
  const [[top]] = filesystem.preopens.getDirectories();
  const file = top.openAt({}, '4k.txt', {}, { read: true });
  const dispose = Symbol.dispose ?? Symbol.for('dispose');
  const stream = () => {
    const stream = file.readViaStream(0n);
    stream.blockingRead(4096n);
    stream[dispose]();
  };
  return { 'read at a place': () => file.read(4096n, 0n), 'read as a stream': stream };
}
