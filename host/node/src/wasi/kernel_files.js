/**
 * File systems of the kernel, which contain no ordinary files, wherever they are mounted: a write is a command to the
 * kernel, and a read can expose the memory of this process.
 */

import { statfsSync } from 'node:fs';

/**
 * `linux/magic.h`: proc, sysfs, debugfs, tracefs, securityfs, configfs, bpf, efivarfs, selinuxfs, cgroup, cgroup2,
 * binfmt_misc, pstore, fusectl, smackfs, resctrl.
 */
const KERNEL_FILE_SYSTEMS = new Set([
  0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0x6265_6570, 0xcafe_4a11, 0xde5e_81e4, 0xf97c_ff8c,
  0x0027_e0eb, 0x6367_7270, 0x4249_4e4d, 0x6165_676c, 0x6573_5543, 0x4341_5d53, 0x0765_5821,
]);

/**
 * Returns whether the entry at a path is in such a file system.
 *
 * @param {string} path A path that renames do not redirect, such as `/proc/self/fd/N`.
 */
export function isOfKernel(path) {
  if (process.platform !== 'linux') return false;
  // On some processors the value is a signed number of 32 bits.
  return KERNEL_FILE_SYSTEMS.has(statfsSync(path).type >>> 0);
}
