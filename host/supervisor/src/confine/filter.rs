//! Seccomp filter: which system calls a command may make, which fail, and which the supervisor makes for it.

use libc::sock_filter;

use super::Variant;
use super::bpf::{self, Action, Rule, Test};
use lists::{
    ATTRIBUTES, CONNECTING, DENIED, DENIED_HERE, FCNTLS, IOCTLS, MISSING, NETWORK_IOCTLS, NOTIFIED, NOTIFIED_HERE,
    RLIMIT_CORE,
};

mod lists;
pub(crate) use lists::{FCHMODAT2, PRIO_PGRP};

/// Newest system call that was reviewed. Later ones may change files by path, and are therefore refused.
const NEWEST: u32 = 469;

/// Flags of `clone` that create namespaces.
const NEW_NAMESPACES: u32 = 0x7e02_0000;

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
/// Another protocol number could make the kernel load a module. Without it, the supervisor refuses sockets for the
/// Internet, so that the result can name the reason.
fn socket(network: bool) -> Rule {
    let mut cases = Vec::new();
    if !network {
        let internet = [libc::AF_INET, libc::AF_INET6].map(|domain| vec![Test::Is(0, domain.cast_unsigned())]);
        cases.extend(internet.map(|tests| (tests, Action::Notify)));
    }
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
/// - Setting `RLIMIT_CORE` of any process: its value keeps core dumps from a program that collects them.
fn own_state() -> Vec<Rule> {
    let success = Action::Errno(0);
    let dumpable = vec![Test::Is(0, libc::PR_SET_DUMPABLE.cast_unsigned())];
    let parent = Test::Is(0, libc::PR_SET_PDEATHSIG.cast_unsigned());
    let dies = vec![parent, Test::Is(1, libc::SIGKILL.cast_unsigned())];
    let prctl = [(dumpable, success), (dies, Action::Allow), (vec![parent], success)];
    let core = RLIMIT_CORE;
    vec![
        rule(libc::SYS_prctl, prctl, Action::Allow),
        rule(libc::SYS_setrlimit, [(vec![Test::Is(0, core)], success)], Action::Allow),
        rule(
            libc::SYS_prlimit64,
            [
                // A query has a null pointer as the new limit.
                (vec![Test::Is(1, core), Test::Any(2, u32::MAX)], success),
                (vec![Test::Is(1, core), Test::AnyUpper(2)], success),
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

#[cfg(test)]
mod tests;
