/** The directories of a workspace. The main thread opens them once, and every thread uses them through their descriptors. */

import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { PaddockError, toolError } from '../errors.js';
import { Holder, directoryOf } from './held.js';
import { checkOwn, mounts, openNamed, unopened } from './mounts.js';
import { guarded, ownWalks } from './own.js';
import { StateDirectory, statePath } from './state.js';

/** @typedef {import('./walk.js').Walk} Walk */

/**
 * The requested directories of a workspace.
 *
 * @typedef {object} Wanted
 * @property {string} directory
 * @property {import('./mounts.js').RootOption[]} roots
 * @property {import('../policy.js').Policy} policy
 * @property {string | false} [stateDir]
 * @property {'refuse' | 'ignore'} [projectPolicy]
 * @property {boolean} [byPath]
 */

export class Directories {
  #holder = new Holder();
  #free = this.#holder.use();
  /** @type {StateDirectory | undefined} */
  state;

  /** Opens all directories. On failure, none is left open. @param {Wanted} wanted */
  constructor({ directory, roots, policy, stateDir, projectPolicy = 'ignore', byPath = false }) {
    const own = ownWalks(byPath);
    /** @type {Walk | undefined} */
    let state;
    try {
      /** The roots, the workspace first. */
      this.mounts = mounts({ path: directory }, roots, policy, { holder: this.#holder, own, byPath });
      if (projectPolicy === 'refuse') checkProjectPolicy(this.mounts[0]);
      state = this.#openState(stateDir, byPath);
      const { guarded: guardedPaths, paths } = guarded(this.mounts, state, own);
      /** Directories and file systems that are closed to guests. */
      this.guarded = guardedPaths;
      /** The closed paths, for the policy of guests. */
      this.ownPaths = paths;
      if (state) this.state = new StateDirectory(state, this.#holder);
    } catch (cause) {
      this.close();
      throw unopened('the directories of', directory, cause);
    } finally {
      for (const walk of [...own, ...(state ? [state] : [])]) walk.close();
    }
  }

  /** @param {string | false | undefined} wanted @param {boolean} byPath */
  #openState(wanted, byPath) {
    const canChange = this.mounts.some(({ access }) => access === 'read-write');
    const path = canChange ? statePath(this.mounts[0].host, wanted) : undefined;
    if (path === undefined) return undefined;
    const walk = openNamed('the state directory', path, this.mounts, byPath);
    try {
      if (walk.isBlocked) throw new PaddockError(toolError('not-a-directory', `cannot open the state directory \`${path}\`: it is not a directory`, 'name a directory, or nothing, where one is made'));
      for (const { host, held, holders } of this.mounts) checkOwn(host, [held.identity, ...holders], [walk]);
      return walk;
    } catch (cause) {
      walk.close();
      throw cause;
    }
  }

  /** Returns the state directory, and creates it if necessary. Returns null if it cannot be created; calls then have none. */
  makeState() {
    try {
      return { state: this.state?.make() ?? null };
    } catch (cause) {
      const { code, message, hint } = unopened('the state directory of', this.mounts[0].host, cause);
      return { error: toolError(code, message.split('\n')[0], hint) };
    }
  }

  /** Returns the state directory if it exists. */
  stateDirectory() {
    const held = this.state?.find();
    return held && directoryOf(held);
  }

  /** Keeps the directories open until the returned function is called. */
  use() {
    return this.#holder.use();
  }

  /** Closes the directories when all users have ended. The promise settles when they are closed. */
  close() {
    this.#free();
    return this.#holder.closed;
  }
}

/** File name extensions of policies. */
export const POLICY_EXTENSIONS = ['yaml', 'yml', 'toml', 'json'];

/** Names of the policy files of a workspace. */
const PROJECT_POLICIES = POLICY_EXTENSIONS.map((extension) => `.paddock.${extension}`);

/**
 * Refuses a workspace with a policy file. The file narrows the rights of tools, and this host does not read it.
 *
 * @param {import('./mounts.js').Mount} workspace
 */
function checkProjectPolicy({ host, held }) {
  const directory = directoryOf(held);
  const policyName = PROJECT_POLICIES.find((name) => lstatSync(directory.entry(name), { throwIfNoEntry: false }));
  if (!policyName) return;
  const cause = `\`${join(host, policyName)}\` narrows what tools may do, and this host reads no such file`;
  const hint = 'put its settings in the policy (`--policy FILE`) and ignore it (`--ignore-project-policy`), or use the Rust host';
  throw new PaddockError(toolError('invalid-argument', cause, hint));
}
