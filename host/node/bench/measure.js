/** Medians of work that is done in turns, because the speed of a machine varies during a run. */

/** @typedef {Record<string, () => unknown>} Kinds */

/**
 * Returns the median of each kind of work in milliseconds. The first round is not measured.
 *
 * @param {Kinds} kinds
 * @param {{rounds: number, calls: number}} often
 * @returns {Promise<Map<string, number>>}
 * /
 */
export async function measure(kinds, { rounds, calls }) {
  const times = new Map(Object.keys(kinds).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, act] of Object.entries(kinds)) {
      const began = performance.now();
      for (let call = 0; call < calls; call += 1) await act();
      if (round > 0) times.get(name).push((performance.now() - began) / calls);
    }
  }
  return new Map([...times].map(([name, all]) => [name, all.sort((one, other) => one - other)[all.length >> 1]]));
}

/** @param {number} time In milliseconds. */
export function durationText(time) {
  return time < 1 ? `${(time * 1000).toPrecision(3)} µs` : `${time.toPrecision(3)} ms`;
}

/** @param {string[]} cells A row of a Markdown table. */
export function row(cells) {
  console.log(`| ${cells.join(' | ')} |`);
}

/** @param {string[]} heads */
export function head(heads) {
  row(heads);
  row(heads.map((_, index) => (index === 0 ? '---' : '---:')));
}
