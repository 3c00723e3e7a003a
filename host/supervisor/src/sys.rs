//! Minimal wrappers of system calls that no dependency wraps safely.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_long, c_void, seccomp_notif, seccomp_notif_addfd, seccomp_notif_resp, seccomp_notif_sizes};
use rustix::io::Errno;

/// Reads memory of another process into `buffer` and returns the number of bytes read, which is smaller if the rest is
/// not mapped.
#[expect(unsafe_code, reason = "rustix has no process_vm_readv")]
pub(crate) fn read_memory(task: i32, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let address = usize::try_from(address).map_err(|_| Errno::FAULT)?;
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: buffer.len() };
    // SAFETY: the local vector is the buffer, which is borrowed mutably; the remote vector is memory of another
    // process.
    let read = unsafe { libc::process_vm_readv(task, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).map_err(|_| last_error())
}

/// Closes every descriptor whose number is at least `first`.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_from(first: u32) -> Result<(), Errno> {
    // SAFETY: called before any value owns such a descriptor.
    check(unsafe { libc::syscall(libc::SYS_close_range, c_long::from(first), c_long::from(u32::MAX), 0_usize) })
        .map(drop)
}

/// Blocks the given signals and returns a descriptor to read them from.
#[expect(unsafe_code, reason = "rustix has no signalfd")]
pub(crate) fn signals(numbers: &[c_int]) -> Result<OwnedFd, Errno> {
    // SAFETY: the set is initialised by `sigemptyset` before any other call reads it; the descriptor is new.
    unsafe {
        let mut set = MaybeUninit::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        for number in numbers {
            libc::sigaddset(set.as_mut_ptr(), *number);
        }
        libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
        let descriptor = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        check(descriptor.into()).map(|_| OwnedFd::from_raw_fd(descriptor))
    }
}

/// Consumes the pending signals and returns whether one of them asks this process to end.
pub(crate) fn take_signals(signals: &OwnedFd) -> bool {
    let mut reported = false;
    let mut signal = [0; size_of::<libc::signalfd_siginfo>()];
    while rustix::io::read(signals, &mut signal).is_ok_and(|read| read > 0) {
        let number = signal.first_chunk().map_or(0, |it| u32::from_ne_bytes(*it));
        reported |= number != libc::SIGCHLD.cast_unsigned();
    }
    reported
}

/// Result of [`fork`]: whether this is the child or the parent.
pub(crate) enum Forked {
    Child,
    /// The parent, with the process id of the child.
    Parent(i32),
}

/// Forks this process, which must have only one thread.
#[expect(unsafe_code, reason = "rustix has no fork")]
pub(crate) fn fork() -> Result<Forked, Errno> {
    // SAFETY: called before any thread is started, so that no other thread holds a lock that the child may need.
    match check(unsafe { libc::fork() }.into())? {
        0 => Ok(Forked::Child),
        child => i32::try_from(child).map(Forked::Parent).map_err(|_| Errno::OVERFLOW),
    }
}

/// Ends a process that [`fork`] created, without running the exit handlers that it inherited from the parent.
#[expect(unsafe_code, reason = "rustix has no _exit")]
pub(crate) fn exit_child() -> ! {
    // SAFETY: `_exit` takes no pointer and never returns.
    unsafe { libc::_exit(1) }
}

/// A child process that has ended.
#[derive(Clone, Copy)]
pub(crate) struct Reaped {
    pub(crate) pid: i32,
    pub(crate) status: c_int,
    /// Largest resident set size of the child and the processes that it waited for, in bytes.
    pub(crate) max_rss: u64,
}

/// Collects a child that has ended, if there is one; fails if this process has no child.
#[expect(unsafe_code, reason = "rustix has no wait4")]
pub(crate) fn reap() -> Result<Option<Reaped>, Errno> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to live values of the right type; a zeroed `rusage` is valid.
    let (pid, usage) = unsafe {
        let pid = libc::wait4(-1, &raw mut status, libc::WNOHANG | libc::__WALL, usage.as_mut_ptr());
        (pid, usage.assume_init())
    };
    match pid {
        0 => Ok(None),
        pid if pid < 0 => Err(last_error()),
        pid => {
            let max_rss = u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024);
            Ok(Some(Reaped { pid, status, max_rss }))
        }
    }
}

/// Returns the newest Landlock ABI version that the kernel supports.
#[expect(unsafe_code, reason = "a system call without a wrapper")]
pub(crate) fn landlock_version() -> Result<c_long, Errno> {
    const VERSION: c_long = 1;
    // SAFETY: with this flag, the kernel accepts a null pointer and a size of 0.
    check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<c_void>(), 0_usize, VERSION) })
}

/// Returns whether the seccomp structures of the kernel are not larger than those of `libc`.
#[expect(unsafe_code, reason = "a system call without a wrapper")]
pub(crate) fn notifications_fit() -> bool {
    let mut sizes = seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
    // SAFETY: the pointer is to a live value of the type that this operation writes.
    let status = unsafe {
        libc::syscall(libc::SYS_seccomp, c_long::from(libc::SECCOMP_GET_NOTIF_SIZES), 0_usize, &raw mut sizes)
    };
    status == 0
        && usize::from(sizes.seccomp_notif) <= size_of::<seccomp_notif>()
        && usize::from(sizes.seccomp_notif_resp) <= size_of::<seccomp_notif_resp>()
}

/// Installs a seccomp filter in this thread, irrevocably, and returns the descriptor from which its notifications are
/// read.
#[expect(unsafe_code, reason = "a system call without a wrapper")]
pub(crate) fn install(program: &[libc::sock_filter]) -> Result<OwnedFd, Errno> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let mode = c_long::from(libc::SECCOMP_SET_MODE_FILTER);
    let install = |flags: libc::c_ulong| {
        // SAFETY: the program is live and `length` is its length; the kernel copies it.
        check(unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) })
    };
    // Without WAIT_KILLABLE_RECV (Linux 5.19), a signal restarts a call that the supervisor has already made.
    let listener = install(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
        .or_else(|_| install(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER))?;
    let listener = c_int::try_from(listener).map_err(|_| Errno::BADF)?;
    // SAFETY: the kernel created this descriptor in the call above.
    Ok(unsafe { OwnedFd::from_raw_fd(listener) })
}

/// Makes notifications wake the supervisor on the caller's processor, if the kernel supports that (Linux 6.6).
#[expect(unsafe_code, reason = "an ioctl without a wrapper")]
pub(crate) fn wake_synchronously(listener: BorrowedFd<'_>) {
    const FD_SYNC_WAKE_UP: libc::c_ulong = 1;
    // SAFETY: this ioctl takes its argument by value.
    let _slower = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, FD_SYNC_WAKE_UP) };
}

/// Receives the next notification; fails with `NOENT` if its caller is gone.
#[expect(unsafe_code, reason = "an ioctl without a wrapper")]
pub(crate) fn receive(listener: BorrowedFd<'_>) -> Result<seccomp_notif, Errno> {
    let mut notification = MaybeUninit::<seccomp_notif>::zeroed();
    // SAFETY: the kernel requires a zeroed structure and writes at most the size that `notifications_fit` checked; all
    // fields are integers.
    unsafe {
        let got = libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, notification.as_mut_ptr());
        check(got.into()).map(|_| notification.assume_init())
    }
}

/// Returns whether the caller of a notification still waits.
#[expect(unsafe_code, reason = "an ioctl without a wrapper")]
pub(crate) fn still_waits(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the pointer is to a live integer of the size that this ioctl reads.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
}

/// Answers a notification, which ends the wait of its caller.
#[expect(unsafe_code, reason = "an ioctl without a wrapper")]
pub(crate) fn respond(listener: BorrowedFd<'_>, mut response: seccomp_notif_resp) -> Result<(), Errno> {
    // SAFETY: the pointer is to a live value of the type that this ioctl reads.
    let sent = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
    check(sent.into()).map(drop)
}

/// Installs a descriptor in the caller and returns its number there, which the call must return.
#[expect(unsafe_code, reason = "an ioctl without a wrapper")]
pub(crate) fn give(
    listener: BorrowedFd<'_>,
    id: u64,
    requested: BorrowedFd<'_>,
    cloexec: bool,
) -> Result<c_long, Errno> {
    let added = seccomp_notif_addfd {
        id,
        flags: 0,
        srcfd: u32::try_from(requested.as_raw_fd()).unwrap_or(u32::MAX),
        newfd: 0,
        newfd_flags: if cloexec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
    };
    // SAFETY: the pointer is to a live value of the type that this ioctl reads.
    let sent = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const added) };
    check(sent.into())
}

/// Sets the scheduling policy of this thread and of those that it starts: before all ordinary threads if `first`, else
/// ordinary.
#[expect(unsafe_code, reason = "rustix has no sched_setscheduler")]
pub(crate) fn go_first(first: bool) -> Result<(), Errno> {
    let (policy, priority): (c_int, c_int) = if first { (libc::SCHED_RR, 1) } else { (libc::SCHED_OTHER, 0) };
    // The function of this name in musl always fails. The kernel reads a structure with the priority alone.
    // SAFETY: the pointer is to a live value of the type that this call reads.
    let set =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0_usize, c_long::from(policy), &raw const priority) };
    check(set).map(drop)
}

/// Largest signal number.
const LAST_SIGNAL: i32 = 64;

/// Resets all signal dispositions and the signal mask to the defaults of a new program. The process that started the
/// supervisor in the background may have made it ignore some signals.
#[expect(unsafe_code, reason = "rustix has neither signal nor sigprocmask")]
pub(crate) fn reset_signals() {
    // SAFETY: no handler is installed, and the set is initialised before it is used.
    unsafe {
        for signal in 1..=LAST_SIGNAL {
            // SIGKILL and SIGSTOP cannot be changed, and always have their default effect.
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut set = MaybeUninit::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

fn check(result: c_long) -> Result<c_long, Errno> {
    if result < 0 { Err(last_error()) } else { Ok(result) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}
