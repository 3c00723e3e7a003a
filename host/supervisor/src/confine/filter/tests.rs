//! The filter's decisions, by the numbers that the kernel's headers give to system calls on each architecture. The
//! numbers in `tests/syscalls.txt` come from `asm/unistd.h` of Linux, and not from the `libc` crate.

use std::env;
use std::fmt::Write;
use std::fs;
use std::mem::offset_of;
use std::path::Path;

use super::*;

/// Values of `seccomp_data::arch`, from `linux/audit.h`.
const X86_64: u32 = 62 | 0xc000_0000;
const AARCH64: u32 = 183 | 0xc000_0000;
const ARM: u32 = 40 | 0x4000_0000;
const I386: u32 = 3 | 0x4000_0000;

const HERE: u32 = if cfg!(target_arch = "x86_64") { X86_64 } else { AARCH64 };

const STRICT: Variant = Variant { network: false, programs_are_checked: true, programs_are_named: true };

/// Each system call, with all arguments 0. Run with `BLESS=1` to write the decisions into the table.
#[test]
fn each_system_call_by_its_number() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/syscalls.txt");
    let table = fs::read_to_string(&path).unwrap();
    let filter = program(STRICT);
    let mut actual = String::new();
    for line in table.lines() {
        let mut words = line.split_whitespace();
        let (name, x86_64, aarch64) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let number = if cfg!(target_arch = "x86_64") { x86_64 } else { aarch64 };
        let decided = match number.parse() {
            Ok(number) => decision(&filter, HERE, number, [0; 6]),
            Err(_) => words.next().unwrap().to_owned(),
        };
        writeln!(actual, "{name} {x86_64} {aarch64} {decided}").unwrap();
    }
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &actual).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), actual);
}

#[test]
fn calls_of_other_architectures_end_the_process() {
    for arch in [X86_64, AARCH64, ARM, I386].into_iter().filter(|arch| *arch != HERE) {
        assert_eq!(decision(&program(STRICT), arch, 0, [0; 6]), "kill");
    }
}

#[test]
fn calls_that_are_newer_than_the_list_are_unknown() {
    assert_eq!(decision(&program(STRICT), HERE, NEWEST + 1, [0; 6]), "errno:38");
    assert_eq!(decision(&program(STRICT), HERE, u32::MAX, [0; 6]), "errno:38");
}

/// `O_DIRECTORY` and similar flags have other values on other architectures; `O_PATH` has the same value on all.
#[test]
fn only_descriptors_without_access_are_opened_by_the_kernel() {
    let open = |flags: i32| {
        let number = low(libc::SYS_openat);
        decision(&program(STRICT), HERE, number, [0, 0, u64::from(flags.cast_unsigned()), 0, 0, 0])
    };
    assert_eq!(open(libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC), "allow");
    assert_eq!(open(libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_DIRECT), "notify");
    assert_eq!(open(libc::O_RDWR | libc::O_CREAT | libc::O_TMPFILE), "notify");
}

/// The requests in the lists are numbers; `libc` has the values of this architecture for these.
#[test]
fn requests_have_the_numbers_of_this_architecture() {
    let allowed = [libc::TCGETS, libc::TCSETS, libc::TIOCGWINSZ, libc::FIONREAD, libc::FIOCLEX, libc::TIOCSPGRP];
    for request in allowed {
        assert!(IOCTLS.contains(&u32::try_from(request).unwrap()), "{request:x}");
    }
    assert!(!IOCTLS.contains(&u32::try_from(libc::TIOCSTI).unwrap()));
    for operation in [libc::F_SETOWN, libc::F_SETLEASE, libc::F_NOTIFY] {
        assert!(FCNTLS.contains(&operation.cast_unsigned()));
    }
    assert_eq!(i64::from(RLIMIT_CORE), i64::from(libc::RLIMIT_CORE));
    assert_eq!(i64::from(PRIO_PGRP), i64::from(libc::PRIO_PGRP));
}

fn low(number: libc::c_long) -> u32 {
    u32::try_from(number).unwrap()
}

/// Interprets the filter for one call.
fn decision(filter: &[sock_filter], arch: u32, number: u32, arguments: [u64; 6]) -> String {
    let load = |offset: usize| match offset {
        _ if offset == offset_of!(libc::seccomp_data, nr) => number,
        _ if offset == offset_of!(libc::seccomp_data, arch) => arch,
        _ => {
            let offset = offset - offset_of!(libc::seccomp_data, args);
            (arguments[offset / 8] >> (8 * (offset % 8))) as u32
        }
    };
    let (mut at, mut value) = (0, 0_u32);
    loop {
        let step = &filter[at];
        at += 1;
        let holds = match u32::from(step.code) {
            0x20 => {
                value = load(step.k as usize);
                continue;
            }
            0x54 => {
                value &= step.k;
                continue;
            }
            0x06 => return outcome(step.k),
            0x15 => value == step.k,
            0x25 => value > step.k,
            0x35 => value >= step.k,
            0x45 => value & step.k != 0,
            code => panic!("{code:#x}"),
        };
        at += usize::from(if holds { step.jt } else { step.jf });
    }
}

fn outcome(value: u32) -> String {
    match value & libc::SECCOMP_RET_ACTION_FULL {
        libc::SECCOMP_RET_ALLOW => "allow".to_owned(),
        libc::SECCOMP_RET_USER_NOTIF => "notify".to_owned(),
        libc::SECCOMP_RET_KILL_PROCESS => "kill".to_owned(),
        libc::SECCOMP_RET_ERRNO => format!("errno:{}", value & libc::SECCOMP_RET_DATA),
        other => panic!("{other:#x}"),
    }
}
