//! Confinement that the kernel enforces independently of the supervisor: Landlock, seccomp, limits, capabilities.

mod bpf;
pub(crate) mod domain;
pub(crate) mod filter;
pub(crate) mod limits;

use crate::sys;

/// Parameters of the filter that differ between commands.
#[derive(Clone, Copy)]
pub(crate) struct Variant {
    pub(crate) network: bool,
    /// The supervisor checks each program before it runs.
    pub(crate) programs_are_checked: bool,
    /// The command may run only named programs.
    pub(crate) programs_are_named: bool,
}

/// Oldest supported Linux version. Landlock needs 5.13; no kernel before 5.14 was ever tested.
const OLDEST_KERNEL: (u32, u32) = (5, 14);

/// Returns a description of the available confinement for people, or the missing kernel feature as the error.
pub(crate) fn available() -> Result<String, String> {
    let Ok(version @ 1..) = sys::landlock_version() else {
        return Err("Landlock is not enabled in this kernel".to_owned());
    };
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy().into_owned();
    if !sys::notifications_fit() || kernel(&release).is_none_or(|it| it < OLDEST_KERNEL) {
        return Err(format!("Linux 5.14 with seccomp user notification (this is {release})"));
    }
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    if !reads_memory(&scope) {
        let scope = scope.trim();
        return Err(format!(
            "the right to read the memory of commands (`kernel.yama.ptrace_scope` is {scope}, not 0 or 1)"
        ));
    }
    Ok(format!("landlock {version}, seccomp"))
}

/// Returns whether a process may read the memory of its descendants with a given `kernel.yama.ptrace_scope`; empty
/// means that the kernel lacks the setting. The supervisor reads the path arguments of calls from there.
fn reads_memory(scope: &str) -> bool {
    matches!(scope.trim(), "" | "0" | "1")
}

/// Returns whether a Landlock domain prevents processes from sending signals to processes outside it.
pub(crate) fn scopes_signals() -> bool {
    const SCOPES_SINCE: libc::c_long = 6;
    sys::landlock_version().is_ok_and(|it| it >= SCOPES_SINCE)
}

fn kernel(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|it: char| !it.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{kernel, reads_memory};

    #[test]
    fn memory_that_cannot_be_read() {
        assert!(["", "0\n", "1\n"].into_iter().all(reads_memory));
        assert!(!["2\n", "3\n", "?"].into_iter().any(reads_memory));
    }

    #[test]
    fn kernels_by_their_release() {
        assert_eq!(kernel("6.18.44-fc-v595"), Some((6, 18)));
        assert_eq!(kernel("5.4+"), Some((5, 4)));
        assert_eq!(kernel("wrong"), None);
    }
}
