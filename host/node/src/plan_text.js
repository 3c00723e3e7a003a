/** Rendering of a plan for a person, without characters that control a terminal. */

/** Maximum number of rendered lines. A last line reports the number of the others. */
const LINES = 200;

/** Maximum number of characters of a rendered line. A longer line of the plan continues on the next. */
const COLUMNS = 500;

/** Characters that control a terminal, or change the order of its text. A tab stays. */
const ACTIVE = /(?!\t)[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/**
 * Returns the start of a plan. A prefix on each line distinguishes it from the program's own text.
 *
 * @param {import('./outcome.js').Plan} plan
 */
export function renderPlan({ summary, omittedBytes }) {
  const lines = summary.replace(/\n$/, '').split('\n').flatMap(folded);
  const rendered = lines.slice(0, LINES);
  if (lines.length > LINES) rendered.push(`  … ${lines.length - LINES} more lines are not shown`);
  if (omittedBytes > 0) rendered.push(`  … the last ${omittedBytes} bytes of the plan cannot be shown`);
  return `${rendered.join('\n')}\n`;
}

/** @param {string} line */
function folded(line) {
  const characters = [...line];
  const parts = [];
  for (let start = 0; start === 0 || start < characters.length; start += COLUMNS) {
    parts.push(`  ${start === 0 ? '|' : ':'} ${escape(characters.slice(start, start + COLUMNS).join(''))}`);
  }
  return parts;
}

/** @param {string} text */
function escape(text) {
  const escaped = (/** @type {string} */ character) => `\\u{${character.charCodeAt(0).toString(16)}}`;
  return text.replaceAll('\r', '\\r').replace(ACTIVE, escaped);
}
