/**
 * `wasi:clocks`.
 *
 * @typedef {{seconds: bigint, nanoseconds: number}} Datetime
 */

import { Pollable } from './io.js';

const SECOND = 1_000_000_000n;

export const monotonicClock = {
  now: () => BigInt(Math.round(performance.now() * 1e6)),
  resolution: () => 1_000n,
  subscribeInstant: () => new Pollable(),
  subscribeDuration: () => new Pollable(),
};

export const wallClock = {
  now: () => /** @type {Datetime} */ (datetime(BigInt(Date.now()) * 1_000_000n)),
  resolution: () => ({ seconds: 0n, nanoseconds: 1_000_000 }),
};

/**
 * Converts a time. WASI cannot represent times before 1970.
 *
 * @param {bigint} since1970 In nanoseconds.
 * @returns {Datetime | undefined}
 */
export function datetime(since1970) {
  if (since1970 < 0n) return undefined;
  return { seconds: since1970 / SECOND, nanoseconds: Number(since1970 % SECOND) };
}
