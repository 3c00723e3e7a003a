/** Results of the raced calls, by operation. */

import assert from 'node:assert/strict';
import { CANARY, ONLY_OUTSIDE } from './arena.js';

/** Messages of calls that the host ended, or that failed in the host. */
const BROKEN = /the (component|host) failed|the thread of the call ended|used up its time/;

const COLUMNS = ['calls', 'attempts', 'inside', 'refused', 'outside', 'slowest'];

export class Table {
  rows = {};
  /** Sums over all operations. */
  all = row();

  /**
   * Counts a call and its time in milliseconds. Fails if the outcome contains anything from outside, or if the host
   * ended the call.
   */
  count({ operation, tool, args, attempts }, outcome, took) {
    const text = JSON.stringify(outcome);
    const isSound = !text.includes(CANARY) && !text.includes(ONLY_OUTSIDE) && !BROKEN.test(text);
    assert.ok(isSound, `${tool} ${JSON.stringify(args)}: ${text}`);
    const refused = outcome.ok ? refusals(outcome.result, tool, attempts) : attempts;
    for (const counts of [(this.rows[operation] ??= row()), this.all]) {
      counts.calls += 1;
      counts.attempts += attempts;
      counts.inside += attempts - refused;
      counts.refused += refused;
      counts.slowest = Math.max(counts.slowest, took);
    }
  }

  lines() {
    const cells = (name, list) => `${name.padEnd(10)}${list.map((cell) => String(cell).padStart(10)).join('')}`;
    const rows = Object.entries(this.rows).sort(([one], [other]) => (one < other ? -1 : 1));
    const line = ([name, counts]) => cells(name, COLUMNS.map((column) => (column === 'slowest' ? `${Math.ceil(counts[column])} ms` : counts[column])));
    return [cells('', COLUMNS), ...rows.map(line), line(['all', this.all])];
  }
}

function row() {
  return { calls: 0, attempts: 0, inside: 0, refused: 0, outside: 0, slowest: 0 };
}

function refusals(result, tool, attempts) {
  if (tool !== 'read_files') return 0;
  assert.equal(result.entries.length, attempts);
  return result.entries.filter(({ error }) => error).length;
}
