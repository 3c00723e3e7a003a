//! Process that outlives the supervisor: it runs the supervisor as its child, and kills the remaining processes of the
//! command when that child ends, for whatever reason. The command's calls take no memory in this process.

use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::sys::{self, Forked, Reaped};
use crate::tree::{Tree, numbered};

/// First descriptor after the standard ones. The socket to the host is standard input.
const FIRST_FREE: u32 = 3;

/// Time to wait for killed processes before processes that appeared in the meantime are killed too.
const KILL_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// Runs `supervise` in a child, and becomes the parent of the processes that the child leaves behind.
pub(crate) fn run(supervise: fn() -> io::Result<()>) -> io::Result<ExitCode> {
    sys::close_from(FIRST_FREE)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // The user's other processes must not read the memory of the supervisor or of this process.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let signals = sys::signals(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?;
    let own = rustix::process::getpid();
    match sys::fork()? {
        Forked::Child => {
            drop(signals);
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            if rustix::process::getppid() != Some(own) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            supervise().map(|()| ExitCode::SUCCESS)
        }
        Forked::Parent(supervisor) => {
            // Only the supervisor holds the host's socket, so that it closes with the supervisor.
            rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
            let has_succeeded = outlive(supervisor, &signals)?;
            Ok(if has_succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// Waits until the supervisor ends or a signal asks this process to end, then kills the remaining processes. Returns
/// whether the supervisor succeeded.
fn outlive(supervisor: i32, signals: &OwnedFd) -> io::Result<bool> {
    let tree = Tree::new(false);
    let mut status = None;
    let mut is_reported = false;
    while status.is_none() && !is_reported {
        wait(signals, None)?;
        is_reported = sys::take_signals(signals);
        reap(&tree, supervisor, &mut status);
    }
    loop {
        tree.descendants().into_iter().for_each(|process| kill(&tree, process));
        if reap(&tree, supervisor, &mut status) {
            return Ok(status == Some(0));
        }
        wait(signals, Some(&KILL_AGAIN))?;
        sys::take_signals(signals);
    }
}

/// Collects ended processes and returns whether no child is left.
fn reap(tree: &Tree, supervisor: i32, status: &mut Option<i32>) -> bool {
    tree.reap(|Reaped { pid, status: ended, .. }| {
        if *pid == supervisor {
            *status = Some(*ended);
        }
    })
}

/// Kills a process, if it is still a descendant once its pidfd is open, so that no unrelated process with the same id
/// is killed.
fn kill(tree: &Tree, process: i32) {
    let held = numbered(process).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if let Some(held) = held.filter(|_| tree.has(process)) {
        // A process that has ended needs no signal.
        let _gone = pidfd_send_signal(held, Signal::KILL);
    }
}

fn wait(signals: &OwnedFd, time: Option<&Timespec>) -> io::Result<()> {
    let mut waited = [PollFd::new(signals, PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut waited, time))?;
    Ok(())
}
