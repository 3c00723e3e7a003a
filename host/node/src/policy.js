/**
 * The policy as the guest is told it, in `PADDOCK_POLICY`: the caller's settings and, beside them, what the host is
 * and has. The component checks the settings; the README's table has all of them.
 */

import { PaddockError, toolError } from './errors.js';

/**
 * What tools may do.
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

/** The limits that the host itself holds calls to, as they are built in. */
const BUILT_IN = { max_time_ms: 30_000, max_memory_bytes: 256 * 1024 * 1024, max_tree_bytes: 64 * 1024 * 1024 };

/** Names beside the settings that are the host's to set. */
const OWN = ['backend', 'roots', 'host'];

/**
 * What the caller set, as one policy.
 *
 * @param {Policy} policy
 * @param {Limits} limits Put over those of the policy.
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

/** @param {Policy} policy What the host itself holds calls to. */
export function hostLimits({ limits = {} }) {
  // What is no number is refused by the component.
  const limit = (/** @type {keyof typeof BUILT_IN} */ name) => (Number.isInteger(limits[name]) ? Number(limits[name]) : BUILT_IN[name]);
  return { timeMs: limit('max_time_ms'), memory: limit('max_memory_bytes'), tree: limit('max_tree_bytes') };
}

/**
 * `PADDOCK_POLICY` for the guest.
 *
 * @param {Policy} policy
 * @param {'wasi' | 'memory'} backend
 * @param {import('./disk/mounts.js').Mount[]} mounts
 * @param {{carries_modes: boolean, keeps_modes?: boolean, private?: string[], fixed?: string[], approval_key: string}} host
 */
export function environment(policy, backend, mounts, host) {
  const roots = mounts.map(({ host, guest, access, held }) => ({ host, guest, access, id: `${held.identity.ino}:${host}` }));
  return JSON.stringify({ ...policy, backend, roots, host });
}
