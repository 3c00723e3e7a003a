/** The component by jco's stock output and shim, with no code of this host. */

import { readFile } from 'node:fs/promises';
import { WASIShim } from '@bytecodealliance/preview2-shim/instantiation';

/**
 * Calls tools over a directory.
 *
 * @param {string} directory
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
