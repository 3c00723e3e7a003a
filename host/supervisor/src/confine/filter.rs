//! Seccomp filter: which system calls a command may make, which fail, and which the supervisor makes for it.

use libc::sock_filter;

use super::Variant;
use super::bpf::{self, Action, Rule, Test};

/// Newest system call that was reviewed. Later ones may change files by path, and are therefore refused.
const NEWEST: u32 = 469;

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

const NEW_NAMESPACES: u32 = 0x7e02_0000;
/// Requests of `ioctl` about terminals, descriptors and files that are allowed. All others are refused: drivers and
/// file systems have requests that change files, send signals or reveal facts about the machine, whatever access the
/// descriptor has.
const IOCTLS: [u32; 41] = [
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
const NETWORK_IOCTLS: [u32; 10] = [0x8905, 0x8910, 0x8912, 0x8913, 0x8915, 0x8919, 0x891b, 0x8921, 0x8927, 0x8933];
/// Refused operations of `fcntl`: F_SETOWN and F_SETOWN_EX (signals to any process), F_SETLEASE, F_NOTIFY,
/// F_SET_RW_HINT, F_SET_FILE_RW_HINT.
const FCNTLS: [u32; 6] = [8, 15, 1024, 1026, 1036, 1038];

/// Returns the filter of a command.
pub(crate) fn program(variant: Variant) -> Vec<sock_filter> {
    let Variant { network, programs_are_checked, programs_are_named } = variant;
    let mut rules = vec![
        ioctl(network),
        rule(libc::SYS_fcntl, FCNTLS.map(|it| (vec![Test::Is(1, it)], Action::Errno(libc::EPERM))), Action::Allow),
        rule(libc::SYS_clone, [(vec![Test::Any(0, NEW_NAMESPACES)], Action::Errno(libc::EPERM))], Action::Allow),
        socket(network),
        // A datagram socket can later address any other socket that has a name.
        rule(
            libc::SYS_socketpair,
            [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(|it| (family(libc::AF_UNIX, it), Action::Allow)),
            Action::Errno(libc::EACCES),
        ),
        rule(
            libc::SYS_kill,
            [(vec![Test::Is(0, 0)], Action::Allow), (vec![Test::Is(0, u32::MAX)], Action::Errno(libc::EPERM))],
            Action::Notify,
        ),
        // Allowed are the default, ADDR_NO_RANDOMIZE, and 0xffffffff, which queries the present value.
        rule(
            libc::SYS_personality,
            [0, 0x0004_0000, u32::MAX].map(|it| (vec![Test::Is(0, it)], Action::Allow)),
            Action::Errno(libc::EPERM),
        ),
        rule(
            libc::SYS_seccomp,
            [(vec![Test::Is(0, libc::SECCOMP_SET_MODE_FILTER), Test::Any(1, 8)], Action::Errno(libc::EPERM))],
            Action::Allow,
        ),
    ];
    rules.extend(own_state());
    rules.extend(opening());
    rules.extend(of_processes());
    rules.extend(NOTIFIED.iter().map(|call| rule(*call, [], Action::Notify)));
    let executing: &[libc::c_long] = &[libc::SYS_execve, libc::SYS_execveat];
    for (is_notified, calls) in [(programs_are_checked, executing), (programs_are_named, &[libc::SYS_memfd_create])] {
        rules.extend(calls.iter().filter(|_| is_notified).map(|call| rule(*call, [], Action::Notify)));
    }
    for (error, calls) in [
        (libc::EPERM, DENIED),
        (libc::ENOSYS, MISSING),
        (libc::EOPNOTSUPP, ATTRIBUTES),
        (libc::EPERM, DENIED_HERE),
        (libc::EACCES, if network { &[] } else { CONNECTING }),
    ] {
        rules.extend(calls.iter().map(|call| rule(*call, [], Action::Errno(error))));
    }
    rules.extend(NOTIFIED_HERE.iter().map(|call| rule(*call, [], Action::Notify)));
    bpf::program(&rules, NEWEST)
}

fn ioctl(network: bool) -> Rule {
    let network: &[u32] = if network { &NETWORK_IOCTLS } else { &[] };
    let allowed = IOCTLS.iter().chain(network).map(|request| (vec![Test::Is(1, *request)], Action::Allow));
    rule(libc::SYS_ioctl, allowed, Action::Errno(libc::ENOTTY))
}

/// Returns the rule for `socket`. With network access, it allows TCP streams, UDP datagrams and netlink route queries.
/// Another protocol number could make the kernel load a module.
fn socket(network: bool) -> Rule {
    let mut cases = Vec::new();
    if network {
        let protocols = [(libc::SOCK_STREAM, libc::IPPROTO_TCP), (libc::SOCK_DGRAM, libc::IPPROTO_UDP)];
        for domain in [libc::AF_INET, libc::AF_INET6] {
            for (kind, protocol) in protocols {
                for protocol in [0, protocol.cast_unsigned()] {
                    let mut tests = family(domain, kind);
                    tests.push(Test::Is(2, protocol));
                    cases.push((tests, Action::Allow));
                }
            }
        }
        for kind in [libc::SOCK_RAW, libc::SOCK_DGRAM] {
            let mut routes = family(libc::AF_NETLINK, kind);
            routes.push(Test::Is(2, 0));
            cases.push((routes, Action::Allow));
        }
    }
    rule(libc::SYS_socket, cases, Action::Errno(libc::EACCES))
}

/// Returns rules for calls that change the state of the calling process and that would weaken the supervision. These
/// calls succeed without any effect:
/// - `PR_SET_DUMPABLE`: the supervisor could not read the paths in the memory of a process that is not dumpable.
/// - `PR_SET_PDEATHSIG`, unless the signal is SIGKILL: the process could outlive its parent.
/// - Setting `RLIMIT_CORE` of the caller by `setrlimit`, or by `prlimit64` with process id 0: its value keeps core
///   dumps from a program that collects them.
fn own_state() -> Vec<Rule> {
    let done = Action::Errno(0);
    let dumpable = vec![Test::Is(0, libc::PR_SET_DUMPABLE.cast_unsigned())];
    let parent = Test::Is(0, libc::PR_SET_PDEATHSIG.cast_unsigned());
    let dies = vec![parent, Test::Is(1, libc::SIGKILL.cast_unsigned())];
    let prctl = [(dumpable, done), (dies, Action::Allow), (vec![parent], done)];
    let core = libc::RLIMIT_CORE;
    vec![
        rule(libc::SYS_prctl, prctl, Action::Allow),
        rule(libc::SYS_setrlimit, [(vec![Test::Is(0, core)], done)], Action::Allow),
        rule(
            libc::SYS_prlimit64,
            [
                // A query has no new limit.
                (vec![Test::Is(0, 0), Test::Is(1, core), Test::Any(2, u32::MAX)], done),
                (vec![Test::Is(0, 0)], Action::Allow),
            ],
            Action::Notify,
        ),
    ]
}

/// Returns rules that allow opening with O_PATH and notify the supervisor of all other opening. A descriptor without
/// access reveals no more than `stat`, and opening a file through it notifies the supervisor again. The kernel must
/// make the call, because the supervisor cannot pass on such a descriptor. The flags are in a register, so that no
/// other thread can change them after the check.
fn opening() -> Vec<Rule> {
    let without_access = |call, flags| {
        rule(call, [(vec![Test::Any(flags, libc::O_PATH.cast_unsigned())], Action::Allow)], Action::Notify)
    };
    vec![
        without_access(libc::SYS_openat, 2),
        #[cfg(target_arch = "x86_64")]
        without_access(libc::SYS_open, 1),
    ]
}

/// Returns rules for calls about a process. The supervisor checks that another process is the command's; calls about
/// the caller itself are allowed.
fn of_processes() -> Vec<Rule> {
    let own = |call| rule(call, [(vec![Test::Is(0, 0)], Action::Allow)], Action::Notify);
    let user_of = |call, first: u32| {
        rule(
            call,
            [
                (vec![Test::Is(0, first), Test::Is(1, 0)], Action::Allow),
                (vec![Test::Is(0, first + 1), Test::Is(1, 0)], Action::Allow),
                (vec![Test::Is(0, first + 2)], Action::Errno(libc::EPERM)),
            ],
            Action::Notify,
        )
    };
    vec![
        own(libc::SYS_sched_setscheduler),
        own(libc::SYS_sched_setparam),
        own(libc::SYS_sched_setattr),
        own(libc::SYS_sched_setaffinity),
        user_of(libc::SYS_setpriority, 0),
        user_of(libc::SYS_ioprio_set, 1),
    ]
}

fn family(domain: i32, kind: i32) -> Vec<Test> {
    vec![Test::Is(0, domain.cast_unsigned()), Test::Bits(1, 0xf, kind.cast_unsigned())]
}

fn rule(call: libc::c_long, cases: impl IntoIterator<Item = (Vec<Test>, Action)>, otherwise: Action) -> Rule {
    Rule { call, cases: cases.into_iter().collect(), otherwise }
}

/// System calls that the supervisor makes or checks.
const NOTIFIED: &[libc::c_long] = &[
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
const NOTIFIED_HERE: &[libc::c_long] = &[
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
const NOTIFIED_HERE: &[libc::c_long] = &[];

const DENIED: &[libc::c_long] = &[
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
const DENIED_HERE: &[libc::c_long] =
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load, libc::SYS_uselib, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[libc::c_long] = &[libc::SYS_kexec_file_load];

/// System calls that fail with ENOSYS, as in a kernel without them, so that programs fall back to calls that are
/// checked.
const MISSING: &[libc::c_long] = &[
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

const ATTRIBUTES: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Calls refused without network access, in addition to `socket`, as a second layer.
const CONNECTING: &[libc::c_long] = &[libc::SYS_connect, libc::SYS_bind, libc::SYS_listen];
