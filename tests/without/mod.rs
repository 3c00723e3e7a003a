//! Simulation of kernels without certain system calls, by a filter in the child process.

#![allow(unsafe_code, reason = "a filter has to be put on between fork and exec")]

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::SeccompCmpArgLen::Qword;
use seccompiler::SeccompCmpOp::MaskedEq;
use seccompiler::{BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, apply_filter};

/// A system call that the child cannot use.
pub struct Missing {
    /// Number of the system call.
    pub call: libc::c_long,
    /// Restricts the filter to calls in which these arguments, by index, have these bits under a mask.
    pub arguments: Vec<(u8, u64, u64)>,
}

/// Returns the entry for `openat2`, which resolves paths inside a directory.
pub fn openat2() -> Missing {
    Missing { call: libc::SYS_openat2, arguments: Vec::new() }
}

/// Makes a command run without the system call. The start of the command fails if the filter has no effect.
pub fn without(command: &mut Command, missing: Missing) {
    let filter = filter(&missing);
    // SAFETY: between fork and exec, the closure only makes system calls; the filter is created before.
    unsafe {
        command.pre_exec(move || {
            apply_filter(&filter).map_err(|_| io::ErrorKind::Unsupported)?;
            if is_unknown(&missing) { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
        });
    }
}

fn filter(missing: &Missing) -> BpfProgram {
    let rules = match missing.arguments.as_slice() {
        [] => Vec::new(),
        arguments => {
            let held = |(index, mask, bits): &_| SeccompCondition::new(*index, Qword, MaskedEq(*mask), *bits).unwrap();
            vec![SeccompRule::new(arguments.iter().map(held).collect()).unwrap()]
        }
    };
    let rules = BTreeMap::from([(missing.call, rules)]);
    let (allow, fail) = (SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS.cast_unsigned()));
    let filter = SeccompFilter::new(rules, allow, fail, std::env::consts::ARCH.try_into().unwrap()).unwrap();
    filter.try_into().unwrap()
}

/// Returns whether the kernel does not know a call with these arguments. The other arguments are zero, so that the call
/// has no effect.
pub fn is_unknown(missing: &Missing) -> bool {
    let argument = |index: u8| missing.arguments.iter().find(|it| it.0 == index).map_or(0, |it| it.2);
    // SAFETY: none of the calls does anything with null pointers.
    let result = unsafe { libc::syscall(missing.call, argument(0), argument(1), argument(2), argument(3)) };
    result == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS)
}
