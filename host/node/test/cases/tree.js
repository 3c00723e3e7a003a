/**
 * Trees as maps from paths, as strings of bytes, to entries. They are read from and written to directories and tar
 * archives.
 */

import { execFileSync } from 'node:child_process';
import {
  chmodSync, closeSync, linkSync, lstatSync, mkdirSync, openSync, readFileSync, readdirSync, readlinkSync, symlinkSync, truncateSync, unlinkSync,
  utimesSync, writeFileSync,
} from 'node:fs';

/** Size in bytes from which a file counts as sparse and is not read. */
const HELD = 64 << 20;

/** Returns a path of a tree below a directory, in the form of the system. */
export function at(top, path) {
  return Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path, 'latin1')]);
}

export function readTree(top) {
  const tree = new Map();
  readBelow(Buffer.from(top), '', tree);
  return sorted(tree);
}

function readBelow(directory, prefix, tree) {
  for (const name of readdirSync(directory, { encoding: 'buffer' })) {
    const path = Buffer.concat([directory, Buffer.from('/'), name]);
    const key = prefix + name.toString('latin1');
    const node = readNode(path);
    tree.set(key, node);
    if (node.kind === 'directory') readBelow(path, `${key}/`, tree);
  }
}

function readNode(path) {
  const stat = lstatSync(path);
  if (stat.isDirectory()) return { kind: 'directory' };
  if (stat.isSymbolicLink()) return { kind: 'link', target: readlinkSync(path) };
  if (stat.isFIFO()) return { kind: 'fifo' };
  if (stat.size > HELD) return { kind: 'sparse', size: stat.size };
  return { kind: 'file', bytes: readFileSync(path) };
}

/** Sorts entries by the bytes of their paths. */
export function sorted(tree) {
  return new Map([...tree].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Returns the modes of the regular files of a tree below a directory. */
export function modes(top, tree) {
  const files = [...tree].filter(([, node]) => node.kind === 'file');
  return new Map(files.map(([path]) => [path, lstatSync(at(top, path)).mode & 0o7777]));
}

/** Writes the initial tree of a case to the empty directory `top`. */
export function writeTree({ tree, hardLinks, modes, modified }, top) {
  for (const [path, node] of sorted(tree)) writeNode(at(top, path), node);
  for (const [second, first] of hardLinks) {
    unlinkSync(at(top, second));
    linkSync(at(top, first), at(top, second));
  }
  for (const [path, mode] of modes) chmodSync(at(top, path), mode);
  for (const [path, time] of modified) utimesSync(at(top, path), time, time);
}

function writeNode(path, node) {
  if (node.kind === 'directory') mkdirSync(path);
  else if (node.kind === 'link') symlinkSync(node.target, path);
  else if (node.kind === 'fifo') execFileSync('mkfifo', ['-m', '644', path.toString()]);
  else if (node.kind === 'sparse') {
    closeSync(openSync(path, 'wx'));
    truncateSync(path, node.size);
  } else {
    writeFileSync(path, node.bytes);
    chmodSync(path, 0o644);
  }
}

/** Returns the initial tree of a case as a tar archive in GNU format, as the runners of other hosts do. */
export function pack({ tree, modified }, now) {
  const parts = [];
  for (const [path, node] of sorted(tree)) {
    const time = Math.floor((modified.get(path)?.getTime() ?? now * 1000) / 1000);
    const name = node.kind === 'directory' ? `${path}/` : path;
    const bytes = node.kind === 'file' ? node.bytes : Buffer.alloc(0);
    if (name.length > 100) parts.push(header('././@LongLink', 'L', name.length + 1, 0), padded(Buffer.from(`${name}\0`, 'latin1')));
    if (node.kind === 'link' && Buffer.byteLength(node.target) > 100) {
      const target = Buffer.from(`${node.target}\0`);
      parts.push(header('././@LongLink', 'K', target.length, 0), padded(target));
    }
    const type = { directory: '5', link: '2', file: '0' }[node.kind];
    if (!type) throw new Error('the memory backend cannot hold it: say `only` and `reason`');
    parts.push(header(name.slice(0, 100), type, bytes.length, time, node.target), padded(bytes));
  }
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

function header(name, type, size, time, link = '') {
  const block = Buffer.alloc(512);
  const octal = (value, width) => `${value.toString(8).padStart(width - 1, '0')}\0`;
  block.write(name, 0, 100, 'latin1');
  block.write(octal(0o644, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(size, 12), 124);
  block.write(octal(time, 12), 136);
  block.write('        ', 148);
  block.write(type, 156);
  Buffer.from(link).copy(block, 157, 0, 100);
  block.write('ustar  \0', 257);
  block.write(octal(block.reduce((sum, byte) => sum + byte, 0), 7), 148);
  return block;
}

function padded(bytes) {
  return Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

/** Returns the tree of a snapshot: regular files, directories and links, with long names in GNU format. */
export function unpack(archive) {
  const tree = new Map();
  const bytes = Buffer.from(archive);
  let [longName, longLink] = [undefined, undefined];
  for (let from = 0; from + 512 <= bytes.length && bytes[from] !== 0; ) {
    const block = bytes.subarray(from, from + 512);
    const size = Number.parseInt(field(block, 124, 12), 8) || 0;
    const data = bytes.subarray(from + 512, from + 512 + size);
    from += 512 + Math.ceil(size / 512) * 512;
    const type = String.fromCharCode(block[156]);
    if (type === 'L') longName = field(data, 0, size);
    else if (type === 'K') longLink = data.subarray(0, size).toString().replace(/\0+$/, '');
    else {
      const name = (longName ?? field(block, 0, 100)).replace(/\/$/, '');
      const target = longLink ?? block.subarray(157, 257).toString().replace(/\0.*$/s, '');
      [longName, longLink] = [undefined, undefined];
      if (type === '5') tree.set(name, { kind: 'directory' });
      else if (type === '2') tree.set(name, { kind: 'link', target });
      else tree.set(name, { kind: 'file', bytes: Buffer.from(data) });
    }
  }
  return sorted(tree);
}

function field(block, from, length) {
  return block.subarray(from, from + length).toString('latin1').replace(/\0.*$/s, '');
}
