/** Threads that make calls, one at a time each. To end a call, the pool ends its thread. */

import { stopped, toolError } from './errors.js';

/** @typedef {import('./perform.js').Job} Job */
/** @typedef {import('./perform.js').JobResult} JobResult */

/**
 * A worker thread, or a host on the caller's thread.
 *
 * @typedef {object} Thread
 * @property {(job: Job) => Promise<JobResult>} run Rejects if the thread ends.
 * @property {() => void} end Ends the thread at once, also during a call.
 */

/** @typedef {{job: Job, signal?: AbortSignal, settle: (done: JobResult) => void}} Waiting */

export class Pool {
  #spawn;
  #maxThreads;
  /** Whether the thread holds state that cannot be created again. */
  #isPersistent;
  /** @type {Set<Thread>} */
  #threads = new Set();
  /** @type {Thread[]} */
  #idle = [];
  /** @type {Waiting[]} */
  #waiting = [];
  /** @type {import('./errors.js').ToolError | undefined} The reason why no more calls are made. */
  #closed;

  /**
   * @param {() => Thread} spawn
   * @param {number} maxThreads
   * @param {boolean} [isPersistent] Use one thread, whose state is lost when it ends.
   */
  constructor(spawn, maxThreads, isPersistent = false) {
    this.#spawn = spawn;
    this.#maxThreads = maxThreads;
    this.#isPersistent = isPersistent;
  }

  /**
   * Makes a call when a thread is free. Returns failures as values.
   *
   * @param {Job} job
   * @param {AbortSignal} [signal]
   * @returns {Promise<JobResult>}
   */
  run(job, signal) {
    return new Promise((settle) => {
      const waiting = { job, signal, settle };
      if (signal?.aborted) return settle({ error: stopped.cancelled() });
      const thread = this.#closed ? undefined : this.#free();
      if (thread) return this.#start(thread, waiting);
      if (this.#closed) return settle({ error: this.#closed });
      this.#waiting.push(waiting);
      signal?.addEventListener('abort', () => this.#forget(waiting), { once: true });
    });
  }

  /** Ends all threads and their calls. */
  close() {
    this.#fail(toolError('backend-gone', 'the workspace was closed', 'open it again'));
  }

  #free() {
    const thread = this.#idle.pop();
    if (thread || this.#threads.size >= this.#maxThreads) return thread;
    const spawned = this.#spawn();
    this.#threads.add(spawned);
    return spawned;
  }

  /** @param {Thread} thread @param {Waiting} waiting */
  #start(thread, { job, signal, settle }) {
    let isOver = false;
    const finish = (/** @type {JobResult} */ result, /** @type {boolean} */ isSound) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      if (isSound) this.#idle.push(thread);
      else this.#lose(thread);
      settle(result);
      this.#next();
    };
    const cancel = () => finish({ error: stopped.cancelled() }, false);
    const timer = setTimeout(() => finish({ error: stopped.deadline() }, false), job.timeMs);
    signal?.addEventListener('abort', cancel, { once: true });
    thread.run(job).then(
      (result) => finish(result, true),
      (cause) => finish({ error: toolError('io', `the thread of the call ended: ${cause?.message ?? cause}`) }, false),
    );
  }

  /** @param {Thread} thread */
  #lose(thread) {
    thread.end();
    this.#threads.delete(thread);
    if (!this.#isPersistent) return;
    const hint = 'the person who runs this has to make a new one from its last snapshot';
    this.#fail(toolError('backend-gone', 'the workspace in memory was lost with a call that was ended', hint));
  }

  #next() {
    while (this.#waiting.length > 0 && !this.#closed) {
      const thread = this.#free();
      if (!thread) return;
      this.#start(thread, /** @type {Waiting} */ (this.#waiting.shift()));
    }
  }

  /** @param {Waiting} waiting */
  #forget(waiting) {
    const at = this.#waiting.indexOf(waiting);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    waiting.settle({ error: stopped.cancelled() });
  }

  /** @param {import('./errors.js').ToolError} error */
  #fail(error) {
    this.#closed ??= error;
    for (const thread of this.#threads) thread.end();
    this.#threads.clear();
    this.#idle = [];
    for (const waiting of this.#waiting.splice(0)) waiting.settle({ error: this.#closed });
  }
}
