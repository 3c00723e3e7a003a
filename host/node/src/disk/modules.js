/** The component's core modules, as the package has them. */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { PaddockError, toolError } from '../errors.js';
import { modulesBy } from '../modules.js';

export const loadModules = modulesBy(async (url) => {
  try {
    return await readFile(url);
  } catch (cause) {
    const hint = 'install the package again; in a clone of the repository, run `npm run build` in `host/node`';
    throw new PaddockError(toolError('io', `cannot load the component from \`${fileURLToPath(url)}\`: ${/** @type {Error} */ (cause).message}`, hint));
  }
});
