/**
 * The policy of the command line. The native program, which the same command may run, combines `PADDOCK_POLICY`,
 * `--policy` and the files of the user and of the workspace. This host reads one policy in JSON, and refuses the others
 * rather than ignore what they forbid.
 */

import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { POLICY_EXTENSIONS } from './disk/directories.js';
import { configDirectories } from './disk/own.js';
import { PaddockError, toolError } from './errors.js';

/**
 * Returns the policy in a file, or without a file the one in `PADDOCK_POLICY`.
 *
 * @param {string | undefined} file The value of `--policy`.
 * @param {boolean | undefined} ignoresUserPolicy
 * @returns {import('./policy.js').Policy}
 */
export function policyOf(file, ignoresUserPolicy) {
  const userPolicy = ignoresUserPolicy ? undefined : findUserPolicy();
  if (userPolicy !== undefined) {
    const hint = 'put its settings in the policy (`--policy FILE`) and ignore it (`--ignore-user-policy`), or use the Rust host';
    throw refusal(`the user's policy \`${userPolicy}\` says what tools may do, and this host reads no such file`, hint);
  }
  const variable = process.env.PADDOCK_POLICY || undefined;
  if (file === undefined) return variable === undefined ? {} : parse('`PADDOCK_POLICY`', variable);
  if (variable !== undefined) {
    throw refusal('there is a policy in `PADDOCK_POLICY` and one in `--policy`, and this host reads only one', 'put all settings in one of them, or use the Rust host');
  }
  return parse(`the policy \`${file}\``, readFileSync(file, 'utf8'));
}

/** Returns the path of the user's policy, if there is one. A link whose target is missing is one too. */
function findUserPolicy() {
  const [directory] = configDirectories();
  const paths = POLICY_EXTENSIONS.map((extension) => join(directory, `policy.${extension}`));
  return paths.find((path) => lstatSync(path, { throwIfNoEntry: false }));
}

/** @param {string} name @param {string} text @returns {import('./policy.js').Policy} */
function parse(name, text) {
  /** @type {any} */
  let policy;
  try {
    policy = JSON.parse(text);
  } catch (cause) {
    throw refusal(`cannot read ${name}: ${/** @type {Error} */ (cause).message}`, 'this host reads JSON; the Rust host reads YAML and TOML too');
  }
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy)) throw refusal(`cannot read ${name}: it is not a JSON object`);
  return policy;
}

/** @param {string} message @param {string} [hint] */
function refusal(message, hint) {
  return new PaddockError(toolError('invalid-argument', message, hint));
}
