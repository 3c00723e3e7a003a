/** One instance of the component: its imports, its calls, and its end. */

import { instantiate } from '../component/paddock.js';
import { toolError } from './errors.js';
import { imports } from './wasi/imports.js';
import { OutputStream } from './wasi/io.js';

/** The component's core modules by name, compiled. @typedef {Map<string, WebAssembly.Module>} Modules */

/** The failure of a guest that cannot be called again, such as a trap. */
export class Trap extends Error {
  /** @param {import('./errors.js').ToolError} error */
  constructor(error) {
    super(error.message);
    this.error = error;
  }
}

export class Guest {
  #exports;
  #stderr = new OutputStream();

  /**
   * @param {Modules} modules
   * @param {[string, string][]} environment
   * @param {import('./wasi/imports.js').Filesystem} filesystem
   */
  constructor(modules, environment, filesystem) {
    const core = (/** @type {string} */ name) => /** @type {WebAssembly.Module} */ (modules.get(name));
    try {
      this.#exports = /** @type {any} */ (instantiate(core, /** @type {any} */ (imports(environment, filesystem, this.#stderr))));
    } catch (cause) {
      throw new Trap(this.#explain(cause));
    }
  }

  /**
   * Calls a function of an interface. The error case of a `result` is thrown as its value.
   *
   * @param {string} interfaceName
   * @param {string} name
   * @param {any[]} args
   */
  call(interfaceName, name, args) {
    try {
      return this.#exports[interfaceName][name](...args);
    } catch (cause) {
      if (cause !== null && typeof cause === 'object' && 'payload' in cause) throw cause.payload;
      throw new Trap(this.#explain(cause));
    }
  }

  /** @param {any} cause Why the instance failed. */
  #explain(cause) {
    const message = this.#stderr.text();
    if (message.includes('memory allocation of')) {
      const hint = 'ask for less at once: a part of the file, a narrower path or glob, a smaller limit';
      return toolError('limit-exceeded', 'the call needs more memory than it may have', hint);
    }
    const hint = 'this is a defect of the tool, not of the call; report it with the arguments';
    return toolError('io', `the component failed: ${message || cause?.message || cause}`, hint);
  }
}
