//! Compiles rules about system calls to a program for the kernel's packet filter machine (BPF).
//!
//! The `seccompiler` crate supports neither user notification nor several actions in one filter.

use std::mem::offset_of;

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGT, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, seccomp_data,
    sock_filter,
};

/// Result of the filter for a call.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    Allow,
    /// The call fails with this error; 0 is success without any effect.
    Errno(i32),
    /// The supervisor decides.
    Notify,
    Kill,
}

/// Condition on the lower 32 bits of an argument, whose index comes first. The kernel reads these arguments as `int`;
/// a test of a pointer needs both halves.
#[derive(Clone, Copy)]
pub(crate) enum Test {
    Is(u8, u32),
    /// The bits of the first mask equal the second value.
    Bits(u8, u32, u32),
    /// At least one of these bits is set.
    Any(u8, u32),
    /// At least one of the upper 32 bits is set.
    AnyUpper(u8),
}

/// A system call and its cases. The first case whose tests all succeed decides.
pub(crate) struct Rule {
    pub(crate) call: libc::c_long,
    pub(crate) cases: Vec<(Vec<Test>, Action)>,
    pub(crate) otherwise: Action,
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
/// First system call number of the x32 ABI, which has 32-bit pointers.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Returns the filter program. System calls with numbers above `newest` fail as unknown (`ENOSYS`); calls without a
/// rule are allowed.
pub(crate) fn program(rules: &[Rule], newest: u32) -> Vec<sock_filter> {
    let mut program = vec![
        load(offset_of!(seccomp_data, arch)),
        jump(BPF_JEQ, ARCHITECTURE, 1, 0),
        end(Action::Kill),
        load(offset_of!(seccomp_data, nr)),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([jump(libc::BPF_JGE, X32, 0, 1), end(Action::Errno(libc::ENOSYS))]);
    program.extend([jump(BPF_JGT, newest, 0, 1), end(Action::Errno(libc::ENOSYS))]);
    for rule in rules {
        let body = body(rule);
        program.push(jump(BPF_JEQ, low(rule.call), 0, distance(body.len())));
        program.extend(body);
    }
    program.push(end(Action::Allow));
    program
}

/// Returns the instructions of a rule, which end the program on every path.
fn body(rule: &Rule) -> Vec<sock_filter> {
    let mut body = Vec::new();
    for (tests, action) in &rule.cases {
        let mut case = vec![end(*action)];
        for test in tests.iter().rev() {
            let failed = distance(case.len());
            let mut steps = match *test {
                Test::Is(argument, value) => vec![load_argument(argument), jump(BPF_JEQ, value, 0, failed)],
                Test::Any(argument, bits) => vec![load_argument(argument), jump(BPF_JSET, bits, 0, failed)],
                Test::AnyUpper(argument) => {
                    vec![load_upper_half(argument), jump(BPF_JSET, u32::MAX, 0, failed)]
                }
                Test::Bits(argument, mask, value) => vec![
                    load_argument(argument),
                    statement(BPF_ALU | BPF_AND | BPF_K, mask),
                    jump(BPF_JEQ, value, 0, failed),
                ],
            };
            steps.append(&mut case);
            case = steps;
        }
        body.append(&mut case);
    }
    body.push(end(rule.otherwise));
    body
}

fn load(offset: usize) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, u32::try_from(offset).unwrap_or(u32::MAX))
}

/// Loads the lower half of an argument. It comes first, because both supported architectures are little-endian.
fn load_argument(argument: u8) -> sock_filter {
    load(offset_of!(seccomp_data, args) + 8 * usize::from(argument))
}

fn load_upper_half(argument: u8) -> sock_filter {
    load(offset_of!(seccomp_data, args) + 8 * usize::from(argument) + 4)
}

fn end(action: Action) -> sock_filter {
    let value = match action {
        Action::Allow => libc::SECCOMP_RET_ALLOW,
        Action::Errno(error) => libc::SECCOMP_RET_ERRNO | (error.cast_unsigned() & libc::SECCOMP_RET_DATA),
        Action::Notify => libc::SECCOMP_RET_USER_NOTIF,
        Action::Kill => libc::SECCOMP_RET_KILL_PROCESS,
    };
    statement(BPF_RET | BPF_K, value)
}

fn jump(kind: u32, value: u32, held: u8, failed: u8) -> sock_filter {
    sock_filter { jt: held, jf: failed, ..statement(BPF_JMP | kind | BPF_K, value) }
}

fn statement(code: u32, value: u32) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt: 0, jf: 0, k: value }
}

/// Converts a jump distance, at most 255 instructions. The kernel rejects a program with a longer jump, and the tests
/// would then fail.
fn distance(instructions: usize) -> u8 {
    u8::try_from(instructions).unwrap_or(u8::MAX)
}

fn low(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}
