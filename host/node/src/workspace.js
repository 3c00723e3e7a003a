/** A workspace over any backend: tool calls, typed operations, and the definitions of tools. */

import { PaddockError } from './errors.js';
import { shaped } from './formats.js';
import { Operations } from './operations.js';
import { failed, outcome, unwrap } from './outcome.js';

/** The dialect of calls that name none. */
const DIALECT = 'paddock';

/** Maximum number of questions to an approver about one call. */
const MAX_QUESTIONS = 3;

/** @typedef {import('./outcome.js').Outcome} Outcome */
/** @typedef {import('./approval_signer.js').Approver} Approver */
/** @typedef {import('./perform.js').Job} Job */

/**
 * Options of one call.
 *
 * @typedef {object} CallOptions
 * @property {string} [dialect] Dialect of the tool and its arguments. Default: the workspace's.
 * @property {AbortSignal} [signal] Ends the call early.
 * @property {number} [timeMs] Time limit of the call, at most the workspace's own limit. The time for an approval does not count.
 * @property {Approver} [approver] Approver of this call, in place of the workspace's own.
 * @property {boolean} [throws] Throw a `PaddockError` if the tool fails, instead of returning the failure.
 */

/**
 * Parts of a workspace.
 *
 * @typedef {object} Parts
 * @property {import('./pool.js').Pool} pool
 * @property {import('./approval_signer.js').ApprovalSigner} signer
 * @property {number} timeMs
 * @property {string} [dialect]
 * @property {Approver} [approver]
 * @property {{close: () => Promise<void>}} [directories] Directories that it holds open.
 */

/** Closes workspaces that were garbage-collected. */
const forgotten = new FinalizationRegistry((/** @type {Ending} */ ending) => void end(ending));

/** @typedef {Pick<Parts, 'pool' | 'directories'>} Ending */

/** @param {Ending} ending */
function end({ pool, directories }) {
  pool.close();
  return directories?.close() ?? Promise.resolve();
}

export class Workspace extends Operations {
  #parts;
  #dialect;

  /** @param {Parts} parts */
  constructor(parts) {
    super();
    this.#parts = parts;
    this.#dialect = parts.dialect ?? DIALECT;
    const { pool, directories } = parts;
    if (directories) forgotten.register(this, { pool, directories });
  }

  /**
   * Calls a tool. A failure of the tool is a value, unless `throws` says otherwise.
   *
   * @param {string} tool
   * @param {object | string} [args] The arguments, or their JSON.
   * @param {CallOptions} [options]
   * @returns {Promise<Outcome>}
   */
  async call(tool, args = {}, options = {}) {
    const json = typeof args === 'string' ? args : JSON.stringify(args);
    const result = await this.#withApproval({ dialect: options.dialect ?? this.#dialect, tool, args: json }, options);
    const ended = result.outcome ? outcome(result.outcome, result.plan) : failed(/** @type {any} */ (result.error));
    return options.throws ? unwrap(ended) : ended;
  }

  /**
   * Returns the tools of a dialect, always in the same order, as the component defines them or in the format of a provider.
   *
   * @template {import('./formats.js').Format} [F='plain']
   * @param {{dialect?: string, format?: F}} [options]
   * @returns {Promise<import('./formats.js').Shaped<F>>}
   */
  async tools({ dialect = this.#dialect, format } = {}) {
    const described = await this.invoke('tools', 'describe', [dialect], { changing: false });
    return shaped(described, /** @type {F} */ (format ?? 'plain'));
  }

  /**
   * Returns the names of all dialects.
   *
   * @returns {Promise<string[]>}
   */
  dialects() {
    return this.invoke('tools', 'dialects', [], { changing: false });
  }

  /**
   * Ends the workspace's threads and running calls. The promise settles when they have ended and the directories of the
   * workspace are closed.
   *
   * @returns {Promise<void>}
   */
  close() {
    return end(this.#parts);
  }

  [Symbol.dispose ?? Symbol.for('dispose')]() {
    this.close();
  }

  /**
   * Calls a function of the component.
   *
   * @protected
   * @override
   * @param {string} interfaceName
   * @param {string} name
   * @param {any[]} args
   * @param {CallOptions & {changing: boolean}} options
   */
  async invoke(interfaceName, name, args, { changing, ...options }) {
    const result = await this.#withApproval({ interface: interfaceName, function: name, args, changing }, options);
    if (result.error) throw new PaddockError(result.error);
    return result.value;
  }

  /**
   * Makes a call, and makes it again if it needs approval and a person approves it.
   *
   * @param {Omit<Job, 'timeMs'>} call
   * @param {CallOptions} options
   */
  async #withApproval(call, { signal, timeMs = Infinity, approver = this.#parts.approver }) {
    const { pool, signer } = this.#parts;
    const job = { ...call, timeMs: Math.min(timeMs, this.#parts.timeMs) };
    let result = await pool.run(job, signal);
    // The files may have changed while a person decided. The person then decides about the new plan.
    for (let rounds = 0; result.plan && approver && rounds < MAX_QUESTIONS; rounds += 1) {
      const decision = await signer.decide(result.plan, await approver(result.plan));
      if (!decision) break;
      result = await pool.run({ ...job, decision }, signal);
    }
    return result;
  }
}
