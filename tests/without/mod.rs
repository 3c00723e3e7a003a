//! Commands run on a kernel that seems to lack system calls, by a filter that the child puts on itself.

#![allow(unsafe_code, reason = "a filter has to be put on between fork and exec")]

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::SeccompCmpArgLen::Qword;
use seccompiler::SeccompCmpOp::MaskedEq;
use seccompiler::{BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, apply_filter};

/// What a call seems to be to the child.
pub struct Missing {
    /// Its number.
    pub call: libc::c_long,
    /// Only where these arguments, by index, have these bits of a mask.
    pub arguments: Vec<(u8, u64, u64)>,
}

/// `openat2`, which resolves paths inside a directory where the kernel has it.
pub fn openat2() -> Missing {
    Missing { call: libc::SYS_openat2, arguments: Vec::new() }
}

/// Runs the command where the call is unknown. Starting it fails where the filter does not do what it is for.
pub fn without(command: &mut Command, missing: Missing) {
    let filter = filter(&missing);
    // SAFETY: what runs between fork and exec makes system calls and nothing else; the filter is made before.
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

/// Whether the kernel seems not to know a call with these arguments. The others are zero, so that it does nothing.
pub fn is_unknown(missing: &Missing) -> bool {
    let argument = |index: u8| missing.arguments.iter().find(|it| it.0 == index).map_or(0, |it| it.2);
    // SAFETY: none of the calls does anything with null pointers.
    let result = unsafe { libc::syscall(missing.call, argument(0), argument(1), argument(2), argument(3)) };
    result == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS)
}
