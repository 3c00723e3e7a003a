//! Opening of named pipes. A separate thread waits for the other end and answers the call.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::existing_entry::ExistingEntry;
use super::open::reopen;
use super::{Reply, SyscallHandlers, Try};
use crate::access_control::Unresolved;
use crate::notify;

/// Maximum number of waiting threads. A thread whose caller is gone continues to wait.
const MAX_WAITING: usize = 64;
const STACK_BYTES: usize = 64 << 10;

impl SyscallHandlers {
    pub(super) fn open_pipe(
        &self,
        this: Try<'_>,
        existing: &ExistingEntry,
        flags: OFlags,
    ) -> Result<Reply, Unresolved> {
        let opened = existing.opened.try_clone().map_err(|_| Errno::NFILE)?;
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(Errno::NFILE.into());
        }
        let (listener, waiting, id) = (Arc::clone(&self.listener), Arc::clone(&self.waiting), this.call.id);
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            let reply = reopen(opened.as_fd(), flags).map(|it| Reply::Give(it, flags.contains(OFlags::CLOEXEC)));
            notify::answer(listener.as_fd(), id, reply);
            waiting.fetch_sub(1, Ordering::Relaxed);
        });
        match thread {
            Ok(_) => Ok(Reply::Later),
            Err(_) => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                Err(Errno::NFILE.into())
            }
        }
    }
}
