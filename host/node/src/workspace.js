/** A workspace, wherever its files are: calls of tools, typed operations, and the tools themselves. */

import { PaddockError } from './errors.js';
import { shaped } from './formats.js';
import { Operations } from './operations.js';
import { failed, outcome, unwrap } from './outcome.js';

/** The dialect of calls that name none. */
const DIALECT = 'paddock';

/** Times that somebody is asked about one call. */
const MAX_QUESTIONS = 3;

/** @typedef {import('./outcome.js').Outcome} Outcome */
/** @typedef {import('./desk.js').Approver} Approver */
/** @typedef {import('./perform.js').Job} Job */

/**
 * How to make one call.
 *
 * @typedef {object} CallOptions
 * @property {string} [dialect] Whose names and shapes the tool and its arguments have. Default: the workspace's.
 * @property {AbortSignal} [signal] Ends the call early.
 * @property {number} [timeMs] Time for the call, at most the workspace's own limit. The time in which somebody decides does not count.
 * @property {Approver} [approver] Who is asked about the call, in place of the workspace's own approver.
 * @property {boolean} [throws] Throw a `PaddockError` where the tool fails, in place of returning that.
 */

/**
 * What a workspace is made of.
 *
 * @typedef {object} Parts
 * @property {import('./pool.js').Pool} pool
 * @property {import('./desk.js').Desk} desk
 * @property {number} timeMs
 * @property {string} [dialect]
 * @property {Approver} [approver]
 * @property {{close: () => Promise<void>}} [directories] What it holds open.
 */

/** Closes workspaces that nobody can call any more. */
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
    const done = await this.#asking({ dialect: options.dialect ?? this.#dialect, tool, args: json }, options);
    const ended = done.told ? outcome(done.told, done.plan) : failed(/** @type {any} */ (done.error));
    return options.throws ? unwrap(ended) : ended;
  }

  /**
   * The tools of a dialect, always in the same order: as the component tells them, or as a model's interface takes them.
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
   * The names of all dialects.
   *
   * @returns {Promise<string[]>}
   */
  dialects() {
    return this.invoke('tools', 'dialects', [], { changing: false });
  }

  /**
   * Ends the workspace's threads, and calls that are under way. The promise is settled when they have ended, and the
   * directories that the workspace held are closed.
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
    const done = await this.#asking({ interface: interfaceName, function: name, args, changing }, options);
    if (done.error) throw new PaddockError(done.error);
    return done.value;
  }

  /**
   * Makes a call, and again where it needs approval and somebody approves of it.
   *
   * @param {Omit<Job, 'timeMs'>} call
   * @param {CallOptions} options
   */
  async #asking(call, { signal, timeMs = Infinity, approver = this.#parts.approver }) {
    const { pool, desk } = this.#parts;
    const job = { ...call, timeMs: Math.min(timeMs, this.#parts.timeMs) };
    let done = await pool.run(job, signal);
    // What is there may have changed while somebody decided, and then they are asked about that.
    for (let asked = 0; done.plan && approver && asked < MAX_QUESTIONS; asked += 1) {
      const decision = await desk.decide(done.plan, await approver(done.plan));
      if (!decision) break;
      done = await pool.run({ ...job, decision }, signal);
    }
    return done;
  }
}
