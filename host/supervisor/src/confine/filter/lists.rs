//! Lists of system calls and requests, grouped by the decision of the filter.

/// System call numbers that are the same on every architecture, and that `libc` does not define on all of them.
mod number {
    pub(super) const IO_URING_SETUP: libc::c_long = 425;
    pub(super) const IO_URING_ENTER: libc::c_long = 426;
    pub(super) const IO_URING_REGISTER: libc::c_long = 427;
    pub(super) const OPEN_TREE: libc::c_long = 428;
    pub(super) const MOVE_MOUNT: libc::c_long = 429;
    pub(super) const FSOPEN: libc::c_long = 430;
    pub(super) const FSCONFIG: libc::c_long = 431;
    pub(super) const FSMOUNT: libc::c_long = 432;
    pub(super) const FSPICK: libc::c_long = 433;
    pub(super) const CLONE3: libc::c_long = 435;
    pub(super) const OPENAT2: libc::c_long = 437;
    pub(super) const PIDFD_GETFD: libc::c_long = 438;
    pub(super) const PROCESS_MADVISE: libc::c_long = 440;
    pub(super) const MOUNT_SETATTR: libc::c_long = 442;
    pub(super) const QUOTACTL_FD: libc::c_long = 443;
    pub(crate) const FCHMODAT2: libc::c_long = 452;
    pub(super) const LSM_SET_SELF_ATTR: libc::c_long = 460;
    pub(super) const SETXATTRAT: libc::c_long = 463;
    pub(super) const REMOVEXATTRAT: libc::c_long = 466;
    pub(super) const OPEN_TREE_ATTR: libc::c_long = 467;
    pub(super) const FILE_SETATTR: libc::c_long = 469;
}
pub(crate) use number::FCHMODAT2;

/// `RLIMIT_CORE` and `PRIO_PGRP`. Their type in `libc` depends on the C library.
pub(super) const RLIMIT_CORE: u32 = 4;
pub(crate) const PRIO_PGRP: u32 = 1;

/// Requests of `ioctl` about terminals, descriptors and files that are allowed. All others are refused: drivers and
/// file systems have requests that change files, send signals or reveal facts about the machine, whatever access the
/// descriptor has.
pub(super) const IOCTLS: [u32; 41] = [
    // TCGETS, TCSETS, TCSETSW, TCSETSF, TCGETA, TCSETA, TCSETAW, TCSETAF.
    0x5401,
    0x5402,
    0x5403,
    0x5404,
    0x5405,
    0x5406,
    0x5407,
    0x5408,
    // TCSBRK, TCXONC, TCFLSH, TIOCEXCL, TIOCNXCL, TIOCSCTTY, TIOCGPGRP, TIOCSPGRP, TIOCOUTQ.
    0x5409,
    0x540a,
    0x540b,
    0x540c,
    0x540d,
    0x540e,
    0x540f,
    0x5410,
    0x5411,
    // TIOCGWINSZ, TIOCSWINSZ, FIONREAD, TIOCGETD, FIONBIO, TIOCPKT, TIOCNOTTY, TCSBRKP, TIOCGSID.
    0x5413,
    0x5414,
    0x541b,
    0x5424,
    0x5421,
    0x5420,
    0x5422,
    0x5425,
    0x5429,
    // TCGETS2, TCSETS2, TCSETSW2, TCSETSF2.
    0x802c_542a,
    0x402c_542b,
    0x402c_542c,
    0x402c_542d,
    // FIONCLEX, FIOCLEX, FIOASYNC, FIOQSIZE.
    0x5450,
    0x5451,
    0x5452,
    0x5460,
    // FICLONE, FICLONERANGE, FIDEDUPERANGE: they need a descriptor that is open for writing.
    0x4004_9409,
    0x4020_940d,
    0xc018_9436,
    // FS_IOC_GETFLAGS, FS_IOC_GETVERSION, FS_IOC_FIEMAP, FS_IOC_FSGETXATTR.
    0x8008_6601,
    0x8008_7601,
    0xc020_660b,
    0x801c_581f,
];
/// Network requests of `ioctl` that are allowed with network access: SIOCATMARK, SIOCGIFNAME, SIOCGIFCONF,
/// SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFBRDADDR, SIOCGIFNETMASK, SIOCGIFMTU, SIOCGIFHWADDR, SIOCGIFINDEX.
pub(super) const NETWORK_IOCTLS: [u32; 10] =
    [0x8905, 0x8910, 0x8912, 0x8913, 0x8915, 0x8919, 0x891b, 0x8921, 0x8927, 0x8933];
/// Refused operations of `fcntl`: F_SETOWN and F_SETOWN_EX (signals to any process), F_SETLEASE, F_NOTIFY,
/// F_SET_RW_HINT, F_SET_FILE_RW_HINT.
pub(super) const FCNTLS: [u32; 6] = [8, 15, 1024, 1026, 1036, 1038];

/// System calls that the supervisor makes or checks.
pub(super) const NOTIFIED: &[libc::c_long] = &[
    libc::SYS_renameat2,
    libc::SYS_renameat,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mknodat,
    libc::SYS_truncate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_setsid,
    libc::SYS_setpgid,
];

#[cfg(target_arch = "x86_64")]
pub(super) const NOTIFIED_HERE: &[libc::c_long] = &[
    libc::SYS_creat,
    libc::SYS_rename,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_mkdir,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_mknod,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const NOTIFIED_HERE: &[libc::c_long] = &[];

pub(super) const DENIED: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    number::QUOTACTL_FD,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_lookup_dcookie,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    number::PROCESS_MADVISE,
    number::PIDFD_GETFD,
    number::LSM_SET_SELF_ATTR,
    // System V IPC objects and POSIX message queues are shared with every process of the user and have no path that
    // could be checked.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

#[cfg(target_arch = "x86_64")]
pub(super) const DENIED_HERE: &[libc::c_long] =
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load, libc::SYS_uselib, libc::SYS_modify_ldt];
/// `SYS_kexec_file_load` by the numbers that 64-bit Arm and later processors share. The crate `libc` has no name for it
/// with musl.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const DENIED_HERE: &[libc::c_long] = &[294];

/// System calls that fail with ENOSYS, as in a kernel without them, so that programs fall back to calls that are
/// checked.
pub(super) const MISSING: &[libc::c_long] = &[
    number::IO_URING_SETUP,
    number::IO_URING_ENTER,
    number::IO_URING_REGISTER,
    number::OPEN_TREE,
    number::OPEN_TREE_ATTR,
    number::MOVE_MOUNT,
    number::FSOPEN,
    number::FSCONFIG,
    number::FSMOUNT,
    number::FSPICK,
    number::MOUNT_SETATTR,
    number::CLONE3,
    number::OPENAT2,
    number::SETXATTRAT,
    number::REMOVEXATTRAT,
    number::FILE_SETATTR,
];

pub(super) const ATTRIBUTES: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Calls refused without network access, in addition to `socket`, as a second layer.
pub(super) const CONNECTING: &[libc::c_long] = &[libc::SYS_connect, libc::SYS_bind, libc::SYS_listen];
