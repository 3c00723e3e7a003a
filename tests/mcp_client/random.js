// Random numbers that are the same for the same seed.

export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 to `limit` - 1. */
  below(limit) {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  of(items) {
    return items[this.below(items.length)];
  }

  /** Returns `true` in `percent` of 100 cases. */
  chance(percent) {
    return this.below(100) < percent;
  }

  /** Returns up to `max` of the items, in any order. */
  some(items, max) {
    return Array.from({ length: this.below(max + 1) }, () => this.of(items));
  }
}
