/** Calls that a person is asked about first: who decides, and the signature that the guest believes. */

/**
 * What somebody says to a plan: whether it may be done, or why not, which the model is told. `later` is neither yet:
 * the call ends in `approval-required`.
 *
 * @typedef {boolean | 'later' | {refused: string}} Answer
 */

/** @typedef {(plan: import('./outcome.js').Plan) => Answer | Promise<Answer>} Approver Asks somebody, as long as that takes. */
/** @typedef {import('./perform.js').Decision} Decision */

/** How long what was decided is good for, in milliseconds. */
const VALID = 60_000;

/** Signs what was approved, under a key that it shares with its guests alone. */
export class Desk {
  #bytes = crypto.getRandomValues(new Uint8Array(32));
  /** @type {Promise<CryptoKey> | undefined} */
  #key;

  /** The key in hexadecimal, for the guest. */
  get key() {
    return hex(this.#bytes);
  }

  /**
   * What the guest is told of an answer, if there is one.
   *
   * @param {import('./outcome.js').Plan} plan
   * @param {Answer} answer
   * @returns {Promise<Decision | undefined>}
   */
  async decide(plan, answer) {
    if (answer === 'later') return undefined;
    if (answer === true) return { tag: 'approved', val: await this.#sign(plan) };
    return { tag: 'refused', val: answer === false ? '' : answer.refused };
  }

  /** @param {import('./outcome.js').Plan} plan As `wit/approval.wit` says. */
  async #sign(plan) {
    this.#key ??= crypto.subtle.importKey('raw', this.#bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    const said = `${(Date.now() + VALID).toString(16)}.${hex(crypto.getRandomValues(new Uint8Array(16)))}`;
    const text = new TextEncoder().encode(`paddock approval 1\n${said}\n${plan.digest}`);
    const mac = await crypto.subtle.sign('HMAC', await this.#key, text);
    return `${said}.${hex(new Uint8Array(mac))}`;
  }
}

/** @param {Uint8Array} bytes */
function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
