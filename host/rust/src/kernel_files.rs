//! File systems whose files are state of the kernel, at any mount point: in a container, or below a root that
//! contains a whole system.
//!
//! A write to such a file is a command to the kernel with the rights of this process, which may exceed those of the
//! container.

use std::os::fd::AsFd;

use rustix::fs::fstatfs;
use rustix::io::Errno;

/// `linux/magic.h`: proc, sysfs, debugfs, tracefs, securityfs, configfs, bpf, efivarfs, selinuxfs, cgroup, cgroup2,
/// binfmt_misc, pstore, fusectl, smackfs, resctrl.
const KERNEL_FILE_SYSTEMS: [i64; 16] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x6265_6570,
    0xcafe_4a11,
    0xde5e_81e4,
    0xf97c_ff8c,
    0x0027_e0eb,
    0x6367_7270,
    0x4249_4e4d,
    0x6165_676c,
    0x6573_5543,
    0x4341_5d53,
    0x0765_5821,
];

/// Fails with `Errno::PERM` for a file or directory in such a file system.
pub(crate) fn check(opened: impl AsFd) -> Result<(), Errno> {
    let file_system = fstatfs(opened)?.f_type;
    #[allow(clippy::useless_conversion, reason = "the type is narrower on some processors")]
    let file_system = i64::from(file_system) & 0xffff_ffff;
    if KERNEL_FILE_SYSTEMS.contains(&file_system) { Err(Errno::PERM) } else { Ok(()) }
}
