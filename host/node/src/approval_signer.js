/** Approval of calls: the decision of a person, and the signature by which the guest verifies it. */

/**
 * A decision about a plan: approved or not, or a refusal with a reason for the model. With `later`, the call ends with
 * `approval-required`.
 *
 * @typedef {boolean | 'later' | {refused: string}} Answer
 */

/** @typedef {(plan: import('./outcome.js').Plan) => Answer | Promise<Answer>} Approver A function that decides about a plan. It may take any time. */
/** @typedef {import('./perform.js').Decision} Decision */

/** Validity of a decision, in milliseconds. */
const VALID = 60_000;

/** Signs approvals under a key that only this host and its guests have. */
export class ApprovalSigner {
  #bytes = crypto.getRandomValues(new Uint8Array(32));
  /** @type {Promise<CryptoKey> | undefined} */
  #key;

  /** Returns the key in hexadecimal, for the guest. */
  get key() {
    return hex(this.#bytes);
  }

  /**
   * Returns the decision for the guest, or nothing if the answer leaves it open.
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
    const validity = `${(Date.now() + VALID).toString(16)}.${hex(crypto.getRandomValues(new Uint8Array(16)))}`;
    const text = new TextEncoder().encode(`paddock approval 1\n${validity}\n${plan.digest}`);
    const mac = await crypto.subtle.sign('HMAC', await this.#key, text);
    return `${validity}.${hex(new Uint8Array(mac))}`;
  }
}

/** @param {Uint8Array} bytes */
function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
