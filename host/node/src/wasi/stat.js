/**
 * File status of the system as that of WASI.
 *
 * @typedef {import('../../component/interfaces/wasi-filesystem-types.js').DescriptorStat} DescriptorStat
 * @typedef {import('../../component/interfaces/wasi-filesystem-types.js').DescriptorType} DescriptorType
 */

import { datetime } from './clocks.js';

/** @param {import('node:fs').BigIntStats} stat @returns {DescriptorStat} */
export function descriptorStat(stat) {
  return {
    type: typeOf(stat),
    linkCount: stat.nlink,
    size: stat.size,
    dataAccessTimestamp: datetime(stat.atimeNs),
    dataModificationTimestamp: datetime(stat.mtimeNs),
    statusChangeTimestamp: datetime(stat.ctimeNs),
  };
}

/** @param {import('node:fs').BigIntStats | import('node:fs').Dirent} entry @returns {DescriptorType} */
export function typeOf(entry) {
  if (entry.isFile()) return 'regular-file';
  if (entry.isDirectory()) return 'directory';
  if (entry.isSymbolicLink()) return 'symbolic-link';
  if (entry.isFIFO()) return 'fifo';
  if (entry.isSocket()) return 'socket';
  if (entry.isBlockDevice()) return 'block-device';
  if (entry.isCharacterDevice()) return 'character-device';
  return 'unknown';
}
