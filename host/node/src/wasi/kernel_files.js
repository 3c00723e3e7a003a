/**
 * File systems that hold no files but the system itself, wherever they are mounted: a write to one is a command to the
 * kernel, and a read can tell the memory of this process.
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
 * Whether what is at a path is of such a file system.
 *
 * @param {string} path A path that leads to one thing whatever is renamed, such as `/proc/self/fd/N`.
 */
export function isOfKernel(path) {
  if (process.platform !== 'linux') return false;
  // Some processors have it as a signed number of 32 bits.
  return KERNEL_FILE_SYSTEMS.has(statfsSync(path).type >>> 0);
}
