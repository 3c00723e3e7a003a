/** The repository's cases: initial trees, calls and expected results. */

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readTree } from './tree.js';

const FOLDER = fileURLToPath(new URL('../../../../tests/cases', import.meta.url));

/** Returns every case, by name. */
export function allCases() {
  return folders(FOLDER).flatMap((operation) => folders(join(FOLDER, operation)).map((name) => readCase(`${operation}/${name}`)));
}

function folders(directory) {
  return readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name).sort();
}

function readCase(name) {
  const folder = join(FOLDER, name);
  const text = readFileSync(join(folder, 'call.json'), 'utf8');
  const { setup = [], policy = {}, only = [], reason, not_in_python: _, calls, ...single } = JSON.parse(text);
  return {
    name,
    folder,
    policy,
    only,
    reason,
    isAbsolute: text.includes('{root}') || text.includes('{outside}'),
    calls: (calls ?? [single]).map((call) => ({ dialect: 'paddock', arguments: null, ...call })),
    start: start(folder, setup),
  };
}

/** The initial tree of a case: `input/`, and the entries that git cannot store. Paths are strings of bytes. */
function start(folder, steps) {
  const input = join(folder, 'input');
  const tree = existsSync(input) ? readTree(input) : new Map();
  const start = { tree, hardLinks: [], modes: new Map(), modified: new Map() };
  for (const step of steps) take(start, step);
  return start;
}

function take(start, step) {
  const bytes = (text) => Buffer.from(text).toString('latin1');
  const put = (path, node) => putBytes(start.tree, bytes(path), node);
  if ('path_base64' in step) putBytes(start.tree, Buffer.from(step.path_base64, 'base64').toString('latin1'), file(step.text));
  else if ('text' in step) put(step.path, file(step.text));
  else if ('bytes_base64' in step) put(step.path, { kind: 'file', bytes: Buffer.from(step.bytes_base64, 'base64') });
  else if ('repeat' in step) put(step.path, file(step.repeat.text.repeat(step.repeat.times)));
  else if ('sparse' in step) put(step.path, { kind: 'sparse', size: step.sparse });
  else if ('symlink' in step) put(step.symlink, { kind: 'link', target: step.target });
  else if ('dir' in step) put(step.dir, { kind: 'directory' });
  else if ('fifo' in step) put(step.fifo, { kind: 'fifo' });
  else if ('hard_link' in step) {
    put(step.hard_link, start.tree.get(bytes(step.to)));
    start.hardLinks.push([bytes(step.hard_link), bytes(step.to)]);
  } else if ('mode' in step) start.modes.set(bytes(step.path), Number.parseInt(step.mode, 8));
  else if ('mtime' in step) start.modified.set(bytes(step.path), new Date(step.mtime));
  else throw new Error(`unknown step: ${JSON.stringify(step)}`);
}

function file(text) {
  return { kind: 'file', bytes: Buffer.from(text) };
}

function putBytes(tree, path, node) {
  const parts = path.split('/');
  for (let length = 1; length < parts.length; length += 1) {
    const above = parts.slice(0, length).join('/');
    if (!tree.has(above)) tree.set(above, { kind: 'directory' });
  }
  if (tree.has(path)) throw new Error(`something is there already: ${path}`);
  tree.set(path, node);
}
