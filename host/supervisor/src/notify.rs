//! Answers to calls that wait for the supervisor.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libc::seccomp_notif_resp;
use rustix::io::Errno;

use crate::sys;

/// Result of a call.
pub(crate) enum Reply {
    /// The call succeeds with 0.
    Success,
    /// The call returns a descriptor, with close-on-exec set if the second value says so.
    Give(OwnedFd, bool),
    /// The kernel makes the call. Used only for calls whose check does not depend on memory of the caller, and for
    /// `execve`: the kernel reads that path again, and the loaded program is checked when it opens its first file.
    Continue,
    /// Another thread answers the call later.
    Later,
}

/// Answers a call. A caller that is gone needs no answer.
pub(crate) fn answer(listener: BorrowedFd<'_>, id: u64, reply: Result<Reply, Errno>) {
    let response = |error: i32, flags| seccomp_notif_resp { id, val: 0, error, flags };
    // The descriptor is closed here before the answer is sent: a file that is open for writing cannot be executed.
    let give = |requested: OwnedFd, cloexec| sys::give(listener, id, requested.as_fd(), cloexec);
    let response = match reply {
        Ok(Reply::Success) => response(0, 0),
        Ok(Reply::Continue) => response(0, u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(0)),
        Ok(Reply::Later) => return,
        Ok(Reply::Give(requested, cloexec)) => match give(requested, cloexec) {
            Ok(number) => seccomp_notif_resp { val: number, ..response(0, 0) },
            Err(Errno::NOENT) => return,
            Err(error) => response(-error.raw_os_error(), 0),
        },
        Err(error) => response(-error.raw_os_error(), 0),
    };
    let _gone = sys::respond(listener, response);
}
