//! The process that is there when the supervisor is not: it runs the supervisor as its child, and ends all that is left
//! of the command when that child is gone, however it came to its end. Nothing that a command does takes memory here.

use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::sys::{self, Forked, Reaped};
use crate::tree::Tree;

/// Where the command's own standard input takes the socket's place.
const FIRST_FREE: u32 = 3;

/// How long is waited for killed processes before those that came into being meanwhile are killed too.
const KILL_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// Runs `supervise` in a child, and is the parent of whatever that one leaves behind.
pub(crate) fn run(supervise: fn() -> io::Result<()>) -> io::Result<ExitCode> {
    sys::close_from(FIRST_FREE)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // The user's other processes do not look into either of the two.
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
            // The host's socket is the supervisor's alone, and closes with it.
            rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
            let has_succeeded = outlive(supervisor, &signals)?;
            Ok(if has_succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// Waits for the supervisor's end, or for a signal that asks for it, and ends what is left. Whether the supervisor
/// ended well.
fn outlive(supervisor: i32, signals: &OwnedFd) -> io::Result<bool> {
    let tree = Tree::new(false);
    let mut status = None;
    let mut is_told = false;
    while status.is_none() && !is_told {
        wait(signals, None)?;
        is_told = sys::take_signals(signals);
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

/// Collects what ended. Whether no child is left.
fn reap(tree: &Tree, supervisor: i32, status: &mut Option<i32>) -> bool {
    tree.reap(|Reaped { pid, status: ended, .. }| {
        if *pid == supervisor {
            *status = Some(*ended);
        }
    })
}

/// Kills a process that is a descendant still when it is held, so that no other is taken for it.
fn kill(tree: &Tree, process: i32) {
    let held = Pid::from_raw(process).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if let Some(held) = held.filter(|_| tree.has(process)) {
        // One that is gone needs no signal.
        let _gone = pidfd_send_signal(held, Signal::KILL);
    }
}

fn wait(signals: &OwnedFd, time: Option<&Timespec>) -> io::Result<()> {
    let mut waited = [PollFd::new(signals, PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut waited, time))?;
    Ok(())
}
