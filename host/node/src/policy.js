/**
 * The policy of the guest, in `PADDOCK_POLICY`: the caller's settings, and values that describe the host. The component
 * checks the settings; `host/guide/src/policy.md` has a table of all of them.
 */

import { PaddockError, toolError } from './errors.js';

/**
 * Settings of the policy.
 *
 * @typedef {object} Policy
 * @property {'restricted' | 'unrestricted'} [mode]
 * @property {(string | {path: string, access?: 'read-only' | 'read-write'})[]} [allowed_directories]
 * @property {boolean} [read_only]
 * @property {string[]} [blocked_directories]
 * @property {string[]} [allowed_extensions]
 * @property {string[]} [blocked_extensions]
 * @property {boolean} [allow_protected]
 * @property {'break' | 'keep' | 'refuse'} [hard_links]
 * @property {'never' | 'on-delete' | 'on-change'} [approval]
 * @property {boolean} [enable_audit_logging]
 * @property {{enabled?: boolean, max_count?: number, max_days?: number, max_bytes?: number}} [backups]
 * @property {{enabled?: boolean, max_bytes?: number, min_age_seconds?: number}} [index]
 * @property {Limits} [limits]
 */

/**
 * Limits of one call.
 *
 * @typedef {object} Limits
 * @property {number} [max_lines]
 * @property {number} [max_line_chars]
 * @property {number} [max_result_bytes]
 * @property {number} [max_file_bytes]
 * @property {number} [max_files]
 * @property {number} [max_depth]
 * @property {number} [max_entries]
 * @property {number} [max_time_ms]
 * @property {number} [max_memory_bytes]
 * @property {number} [max_tree_bytes]
 */

/** Defaults of the limits that the host itself enforces. */
const BUILT_IN = { max_time_ms: 30_000, max_memory_bytes: 256 * 1024 * 1024, max_tree_bytes: 64 * 1024 * 1024 };

/** Names next to the settings that only the host may set. */
const OWN = ['backend', 'roots', 'host'];

/**
 * Returns the caller's options as one policy.
 *
 * @param {Policy} policy
 * @param {Limits} limits Limits, which override those of the policy.
 * @param {boolean} readOnly
 * @returns {Policy}
 */
export function settings(policy, limits, readOnly) {
  const odd = OWN.find((name) => name in policy);
  if (odd !== undefined) {
    throw new PaddockError(toolError('invalid-argument', `wrong policy: \`${odd}\` is not a setting`, 'roots are the option `roots`; the rest is the host\'s own'));
  }
  if (policy.enable_audit_logging) {
    const hint = 'leave it out here, or run the workspace with the Rust host';
    throw new PaddockError(toolError('invalid-argument', 'wrong policy: `enable_audit_logging`: this host keeps no audit', hint));
  }
  return { ...policy, limits: { ...policy.limits, ...limits }, ...(readOnly && { read_only: true }) };
}

/** @param {Policy} policy Returns the limits that the host itself enforces. */
export function hostLimits({ limits = {} }) {
  // The component refuses a value that is not a number.
  const limit = (/** @type {keyof typeof BUILT_IN} */ name) => (Number.isInteger(limits[name]) ? Number(limits[name]) : BUILT_IN[name]);
  return { timeMs: limit('max_time_ms'), memory: limit('max_memory_bytes'), tree: limit('max_tree_bytes') };
}

/**
 * Returns `PADDOCK_POLICY` for the guest.
 *
 * @param {Policy} policy
 * @param {'wasi' | 'memory'} backend
 * @param {import('./disk/mounts.js').Mount[]} mounts
 * @param {{carries_modes: boolean, has_stamps?: boolean, names?: string, keeps_modes?: boolean, private?: string[], fixed?: string[], approval_key: string}} host
 */
export function environment(policy, backend, mounts, host) {
  const roots = mounts.map(({ host, aliases, guest, access, held }) => ({ host, aliases, guest, access, id: `${held.identity.ino}:${host}` }));
  return JSON.stringify({ ...policy, backend, roots, host: { ...host, name_case: 'camelCase' } });
}
