/**
 * Expected results of a case: `result.json`, `expected/`, and in `expected.json` the parts of the tree that git cannot
 * store.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTree } from './tree.js';

/** Maximum size of a file whose content is recorded, in bytes. */
const MAX_PLAIN = 16 * 1024;

/** Fails if results or tree are not as expected, byte for byte. */
export function compare(testCase, observed) {
  const expected = readFileSync(join(testCase.folder, 'result.json'), 'utf8');
  assert.equal(`${JSON.stringify(observed.outcomes, null, 2)}\n`, expected);
  const tree = expectedTree(testCase);
  if (!observed.modes) tree.rest.modes = bare([]);
  assert.deepEqual(recordedTree(testCase, observed), tree);
}

function expectedTree(testCase) {
  const [files, rest] = [join(testCase.folder, 'expected'), join(testCase.folder, 'expected.json')];
  if (!existsSync(files) && !existsSync(rest)) {
    return recordedTree(testCase, { tree: testCase.start.tree, modes: testCase.start.modes });
  }
  const plain = [...(existsSync(files) ? readTree(files) : [])].filter(([, node]) => node.kind === 'file');
  const recorded = existsSync(rest) ? JSON.parse(readFileSync(rest, 'utf8')) : {};
  return {
    plain: bare(plain.map(([path, node]) => [escaped(path), printable(node.bytes)])),
    rest: { entries: bare(Object.entries(recorded.entries ?? {})), modes: bare(Object.entries(recorded.modes ?? {})) },
  };
}

function recordedTree(testCase, { tree, modes }) {
  // The object has no prototype, because a file may be named `__proto__`.
  const record = { plain: Object.create(null), rest: { entries: Object.create(null), modes: Object.create(null) } };
  for (const [path, node] of tree) {
    if (node.kind === 'file' && isPlain(path) && node.bytes.length <= MAX_PLAIN) record.plain[escaped(path)] = printable(node.bytes);
    else if (node.kind !== 'directory' || ![...tree.keys()].some((other) => other.startsWith(`${path}/`))) {
      record.rest.entries[escaped(path)] = described(node, testCase.start.tree.get(path));
    }
  }
  for (const [path, mode] of modes ?? []) {
    if (testCase.start.modes.has(path) || (mode & 0o111) !== 0) record.rest.modes[escaped(path)] = mode.toString(8).padStart(4, '0');
  }
  return record;
}

function described(node, before) {
  if (node.kind === 'directory') return 'empty directory';
  if (node.kind === 'link') return `link to ${node.target}`;
  if (node.kind === 'fifo') return 'FIFO';
  if (before && isSame(node, before)) return 'as before';
  if (node.kind === 'sparse') return `${node.size} bytes`;
  const text = node.bytes.toString();
  if (node.bytes.length <= MAX_PLAIN && Buffer.from(text).equals(node.bytes)) return `text: ${text}`;
  return `${node.bytes.length} bytes, sha256 ${createHash('sha256').update(node.bytes).digest('hex')}`;
}

function isSame(node, other) {
  if (node.kind !== other.kind) return false;
  return node.kind === 'file' ? node.bytes.equals(other.bytes) : node.size === other.size;
}

/** Returns whether git can store a file of this name on every system and does not interpret it. */
function isPlain(path) {
  return path.split('/').every((name) => {
    const lower = name.toLowerCase();
    const isTaken = lower.startsWith('.git') || lower.startsWith('git~') || lower === 'node_modules';
    const isDevice = /^(con|prn|aux|nul|(com|lpt).)$/s.test(lower.split('.')[0]);
    return /^[a-zA-Z0-9._\-+ ]*$/.test(name) && !isTaken && !isDevice && !/[ .]$/.test(name);
  });
}

/** Returns a path in the form of `expected.json`. */
function escaped(path) {
  const bytes = Buffer.from(path, 'latin1');
  const text = bytes.toString();
  if (Buffer.from(text).equals(bytes)) return text;
  return Array.from(bytes, escapedByte).join('');
}

function escapedByte(byte) {
  const known = { 9: '\\t', 10: '\\n', 13: '\\r', 34: '\\"', 39: "\\'", 92: '\\\\' }[byte];
  if (known) return known;
  return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
}

/** Returns an object without a prototype. */
function bare(members) {
  const object = Object.create(null);
  for (const [name, value] of members) object[name] = value;
  return object;
}

/** Returns bytes for a comparison, as text if they are readable. */
function printable(bytes) {
  return bytes.toString('latin1');
}
