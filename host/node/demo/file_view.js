/** Shows the text of a file, or the diff of the last change of it. */

import { structuredPatch } from 'diff';

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Maximum number of displayed lines of a file, because the page becomes slow with more. */
const MAX_LINES = 3_000;

export class FileView {
  #last = new Map();
  #entry;
  path;

  constructor(element, title, fileTab, diffTab) {
    Object.assign(this, { element, title, fileTab, diffTab });
    fileTab.addEventListener('click', () => this.#select(false));
    diffTab.addEventListener('click', () => this.#select(true));
  }

  /** Records the changes of a call: path, old content and new content. */
  changed(changes) {
    for (const [path, before, after] of changes) this.#last.set(path, [before, after]);
  }

  forget() {
    this.#last.clear();
    this.path = undefined;
  }

  render(path, entry, isChange) {
    Object.assign(this, { path });
    this.#entry = entry;
    this.title.textContent = path ?? 'No file';
    this.#select(isChange);
  }

  #select(isDiff) {
    this.fileTab.setAttribute('aria-selected', String(!isDiff));
    this.diffTab.setAttribute('aria-selected', String(isDiff));
    this.element.replaceChildren(isDiff ? this.#diff() : this.#file());
    this.element.scrollTop = 0;
  }

  #file() {
    if (this.path === undefined) return note('Pick a file.');
    if (this.#entry === undefined) return note('It is not there any more.');
    if (this.#entry?.link) return note(`A symbolic link to ${this.#entry.link}.`);
    const text = decoded(this.#entry);
    if (text === undefined) return note(`${this.#entry.length} bytes that are no UTF-8 text.`);
    const lines = text.replace(/\n$/, '').split('\n');
    const rendered = lines.slice(0, MAX_LINES).map((line, index) => [index + 1, line, '']);
    return rows(lines.length > MAX_LINES ? [...rendered, [undefined, `… ${lines.length - MAX_LINES} more lines`]] : rendered);
  }

  #diff() {
    const change = this.#last.get(this.path);
    if (!change) return note('No call has changed this file yet.');
    const [before, after] = change.map((entry) => (entry === undefined || entry === null ? '' : decoded(entry)));
    if (before === undefined || after === undefined) return note('It changed, in bytes that are no UTF-8 text.');
    const { hunks } = structuredPatch(this.path, this.path, before, after, '', '', { context: 3 });
    return hunks.length > 0 ? rows(hunks.flatMap(hunkRows)) : note('It has the same text.');
  }
}

function hunkRows({ oldStart, oldLines, newStart, newLines, lines }) {
  let number = newStart;
  const body = lines.map((line) => {
    if (line.startsWith('+')) return [number++, line.slice(1), 'added'];
    if (line.startsWith('-')) return ['−', line.slice(1), 'removed'];
    return line.startsWith('\\') ? ['', line, ''] : [number++, line.slice(1), ''];
  });
  return [[undefined, `@@ −${oldStart},${oldLines} +${newStart},${newLines} @@`], ...body];
}

function decoded(entry) {
  if (entry.link) return `link to ${entry.link}\n`;
  try {
    return decoder.decode(entry);
  } catch {
    return undefined;
  }
}

/** Returns rows of line number, text and kind. A row without a number spans both columns. */
function rows(all) {
  const grid = document.createElement('div');
  grid.className = 'lines';
  for (const [number, text, kind] of all) {
    if (number === undefined) grid.append(cell('hunk', text));
    else grid.append(cell(`number ${kind}`, String(number)), cell(`line ${kind}`, text));
  }
  return grid;
}

function cell(kind, text) {
  const element = document.createElement('div');
  element.className = kind;
  element.textContent = text;
  return element;
}

function note(text) {
  return cell('empty', text);
}
