/**
 * The format of native programs. `spawn` runs a file that the system refuses to execute as a script of `/bin/sh`, so a
 * damaged program, or one for another processor, has to be recognised before it is started.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Length of the part of a file that is examined, in bytes: the header of ELF. */
const HEADER = 64;

/** Numbers of processors in ELF, by `process.arch`. All of them have 64 bits and little-endian numbers. */
const ELF_MACHINES = /** @type {Record<string, number>} */ ({ x64: 62, arm64: 183, riscv64: 243, loong64: 258 });

/** Numbers of processors in Mach-O, by `process.arch`. */
const MACH_MACHINES = /** @type {Record<string, number>} */ ({ x64: 0x0100_0007, arm64: 0x0100_000c });

/** Returns why the file at a path is no program for this system, if it is none. @param {string} path */
export function programProblem(path) {
  let file;
  try {
    file = openSync(path, 'r');
    const header = Buffer.alloc(HEADER);
    const length = readSync(file, header, 0, HEADER, 0);
    const { size } = fstatSync(file);
    return length === HEADER && isProgram(header, size) ? undefined : `is damaged, or not for ${process.platform}-${process.arch}`;
  } catch (cause) {
    return `cannot be read: ${/** @type {Error} */ (cause).message}`;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** @param {Buffer} header @param {number} size Size of the file in bytes. */
function isProgram(header, size) {
  if (process.platform === 'win32') return header.toString('latin1', 0, 2) === 'MZ';
  return process.platform === 'darwin' ? isMachO(header) : isElf(header, size);
}

/** @param {Buffer} header */
function isMachO(header) {
  const EXECUTABLE = 2;
  const [magic, machine, , type] = [0, 4, 8, 12].map((offset) => header.readUInt32LE(offset));
  return magic === 0xfeed_facf && machine === MACH_MACHINES[process.arch] && type === EXECUTABLE;
}

/** Checks all that Linux checks before it takes the file as a program. @param {Buffer} header @param {number} size */
function isElf(header, size) {
  const [FIXED, POSITION_INDEPENDENT, SEGMENT_BYTES] = [2, 3, 56];
  // The magic number, 64 bits, little-endian.
  const isElf64 = header.toString('latin1', 0, 6) === '\x7fELF\x02\x01';
  const [type, machine, segmentBytes, segments] = [16, 18, 54, 56].map((offset) => header.readUInt16LE(offset));
  const isForUs = [FIXED, POSITION_INDEPENDENT].includes(type) && machine === ELF_MACHINES[process.arch];
  const end = Number(header.readBigUInt64LE(32)) + segments * SEGMENT_BYTES;
  return isElf64 && isForUs && segmentBytes === SEGMENT_BYTES && segments > 0 && end <= size;
}
