//! Main loop of the supervisor: handles the command's system calls, the host's messages and ended processes until the
//! command is over.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use paddock_supervisor::protocol::{Ended, FromSupervisor, ToSupervisor};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::host_channel::HostChannel;
use crate::pending::Pending;
use crate::serve::SyscallHandlers;
use crate::sys::{self, Reaped};
use crate::tree::Tree;

/// Time to wait for killed processes before processes that appeared in the meantime are killed too.
const KILL_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// Supervision of one command, from its start to its report.
pub(crate) struct Supervisor {
    process: i32,
    tree: Arc<Tree>,
    /// Descriptor for SIGCHLD and the signals that ask this process to end.
    signals: OwnedFd,
    served: Served,
    /// Whether no process is left that could make a call. The end of the command itself is reported soon after.
    calls_over: bool,
    /// The command's own process, once it has ended.
    main: Option<Reaped>,
    /// Whether the command was killed because it had too many processes or threads.
    over_limit: Arc<AtomicBool>,
}

enum Served {
    Confined(Box<SyscallHandlers>, Box<Pending>),
    Unconfined,
}

/// Reason why the loop ends.
enum Over {
    /// The command has ended, or is to be killed.
    Report,
    /// The host has closed the socket.
    HostGone,
}

impl Supervisor {
    /// Creates the supervisor of a running command. `handlers` serves its calls if the command is confined.
    pub(crate) fn new(
        process: i32,
        tree: Arc<Tree>,
        over_limit: Arc<AtomicBool>,
        handlers: Option<SyscallHandlers>,
    ) -> Result<Self, Errno> {
        let signals = sys::signals(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?;
        let served =
            handlers.map_or(Served::Unconfined, |handlers| Served::Confined(Box::new(handlers), Box::default()));
        Ok(Self { process, tree, signals, served, calls_over: false, main: None, over_limit })
    }

    pub(crate) fn run(mut self, mut host: HostChannel) -> io::Result<()> {
        // A process may have ended before SIGCHLD was blocked.
        self.reap();
        let over = loop {
            if self.main.is_some() {
                break Over::Report;
            }
            match self.turn(&mut host) {
                Ok(None) => {}
                Ok(Some(over)) => break over,
                // If the socket fails, the host is gone.
                Err(_) => break Over::HostGone,
            }
        };
        self.end_all()?;
        match over {
            Over::Report => host.say_last(&FromSupervisor::Ended(self.report())),
            Over::HostGone => Ok(()),
        }
    }

    /// Waits for events and handles them.
    fn turn(&mut self, host: &mut HostChannel) -> io::Result<Option<Over>> {
        let wanted = if host.has_unsent() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut waited =
            vec![PollFd::from_borrowed_fd(host.as_fd(), wanted), PollFd::new(&self.signals, PollFlags::IN)];
        if let Served::Confined(handlers, pending) = &self.served
            && !self.calls_over
            && pending.has_capacity()
        {
            waited.push(PollFd::from_borrowed_fd(handlers.listener.as_fd(), PollFlags::IN));
        }
        rustix::io::retry_on_intr(|| poll(&mut waited, None))?;
        let happened: Vec<PollFlags> = waited.iter().map(PollFd::revents).collect();
        let happened = |index: usize| happened.get(index).copied().unwrap_or(PollFlags::empty());
        // The host's messages come first: after `Kill`, no further call may be served.
        if happened(0).contains(PollFlags::OUT) {
            host.send()?;
        }
        if happened(0).intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            for message in host.receive()? {
                if let Some(over) = self.hear(message, host)? {
                    return Ok(Some(over));
                }
            }
        }
        if happened(1).contains(PollFlags::IN) && self.shutdown_requested() {
            return Ok(Some(Over::Report));
        }
        if happened(2).contains(PollFlags::IN) {
            self.call(host)?;
        } else if happened(2).contains(PollFlags::HUP) {
            self.calls_over = true;
        }
        Ok(None)
    }

    fn call(&mut self, host: &mut HostChannel) -> io::Result<()> {
        let Served::Confined(handlers, pending) = &mut self.served else { return Ok(()) };
        match sys::receive(handlers.listener.as_fd()) {
            Ok(notification) => pending.begin(handlers, &notification, host),
            // The caller is gone.
            Err(_) => Ok(()),
        }
    }

    fn hear(&mut self, message: ToSupervisor, host: &mut HostChannel) -> io::Result<Option<Over>> {
        match message {
            ToSupervisor::Descriptors | ToSupervisor::Start(_) => {
                return Err(io::Error::from(io::ErrorKind::InvalidData));
            }
            ToSupervisor::Kill => return Ok(Some(Over::Report)),
            ToSupervisor::Signal { signal } => {
                if let (Some(group), Some(signal)) = (Pid::from_raw(self.process), Signal::from_named_raw(signal)) {
                    // A process group that has ended needs no signal.
                    let _gone = rustix::process::kill_process_group(group, signal);
                }
            }
            ToSupervisor::Verdict(verdict) => {
                if let Served::Confined(handlers, pending) = &mut self.served {
                    pending.answer(handlers, verdict, host)?;
                }
            }
        }
        Ok(None)
    }

    /// Consumes the pending signals, collects ended processes, and returns whether a signal asks this process to end.
    fn shutdown_requested(&mut self) -> bool {
        let reported = sys::take_signals(&self.signals);
        self.reap();
        reported
    }

    /// Kills and collects all descendants of this process, until no process is left that could start another.
    fn end_all(&mut self) -> io::Result<()> {
        loop {
            self.tree.kill();
            if self.reap() {
                return Ok(());
            }
            let mut waited = [PollFd::new(&self.signals, PollFlags::IN)];
            rustix::io::retry_on_intr(|| poll(&mut waited, Some(&KILL_AGAIN)))?;
            self.shutdown_requested();
        }
    }

    /// Collects ended processes and returns whether no child is left.
    fn reap(&mut self) -> bool {
        let (process, mut main) = (self.process, None);
        let none_left = self.tree.reap(|reaped| {
            if reaped.pid == process {
                main = Some(*reaped);
            }
        });
        self.main = self.main.or(main);
        none_left
    }

    fn report(self) -> Ended {
        let mut ended = Ended::default();
        if self.over_limit.load(Ordering::Relaxed) {
            ended.stopped = Some("it had more processes or threads at a time than it may".to_owned());
        }
        if let Some(main) = self.main {
            ended.exit_code = libc::WIFEXITED(main.status).then(|| libc::WEXITSTATUS(main.status));
            ended.signal = libc::WIFSIGNALED(main.status).then(|| libc::WTERMSIG(main.status));
            ended.max_rss = Some(main.max_rss);
        }
        if let Served::Confined(handlers, _) = self.served {
            (ended.refused, ended.refused_count) = handlers.access_control.refusals();
            ended.network_refused = handlers.access_control.network_refused;
            let mut handlers = *handlers;
            (ended.broken_links, ended.broken_links_count) =
                (handlers.broken_links.reported, handlers.broken_links.count);
            handlers.access_control.path_classes.refresh();
            let report = handlers.changes.report(&handlers.access_control.path_classes);
            (ended.before, ended.ignored) = (report.before, report.ignored);
            (ended.not_stored, ended.unrecorded) = (report.not_stored, report.unrecorded);
        }
        ended
    }
}
