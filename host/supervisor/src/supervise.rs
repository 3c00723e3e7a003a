//! The loop: the command's calls, the host's words, ended processes; until all is over.

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

/// How long is waited for killed processes before those that came into being meanwhile are killed too.
const KILL_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// One command, from its start to its report.
pub(crate) struct Supervisor {
    process: i32,
    tree: Arc<Tree>,
    /// SIGCHLD, and what asks this process to end.
    signals: OwnedFd,
    served: Served,
    /// Nobody is left who could make a call; the end of the command itself is about to be told.
    calls_over: bool,
    /// The end of the command itself.
    main: Option<Reaped>,
    /// It was ended since it had too many processes.
    over_limit: Arc<AtomicBool>,
}

enum Served {
    Confined(Box<SyscallHandlers>, Box<Pending>),
    Unconfined,
}

/// Why the loop is left.
enum Over {
    /// The command ended, or is to.
    Report,
    /// Nobody is there to report to.
    HostGone,
}

impl Supervisor {
    /// `desk` serves a command's calls, where it is confined.
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
        // What ended before the signal was waited for.
        self.reap();
        let over = loop {
            if self.main.is_some() {
                break Over::Report;
            }
            match self.turn(&mut host) {
                Ok(None) => {}
                Ok(Some(over)) => break over,
                // A socket that fails has no host at its other end.
                Err(_) => break Over::HostGone,
            }
        };
        self.end_all()?;
        match over {
            Over::Report => host.say_last(&FromSupervisor::Ended(self.report())),
            Over::HostGone => Ok(()),
        }
    }

    /// Waits for something and deals with it.
    fn turn(&mut self, host: &mut HostChannel) -> io::Result<Option<Over>> {
        let wanted = if host.has_unsent() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut waited =
            vec![PollFd::from_borrowed_fd(host.as_fd(), wanted), PollFd::new(&self.signals, PollFlags::IN)];
        if let Served::Confined(handlers, pending) = &self.served
            && !self.calls_over
            && pending.has_room()
        {
            waited.push(PollFd::from_borrowed_fd(handlers.listener.as_fd(), PollFlags::IN));
        }
        rustix::io::retry_on_intr(|| poll(&mut waited, None))?;
        let happened: Vec<PollFlags> = waited.iter().map(PollFd::revents).collect();
        let happened = |index: usize| happened.get(index).copied().unwrap_or(PollFlags::empty());
        // The host first: what it says may be that no call is to be served any more.
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
        if happened(1).contains(PollFlags::IN) && self.told_to_end() {
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
            // Its caller is gone.
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
                    // A group that is gone needs no signal.
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

    /// Takes the signals that came. True where one of them asks this process to end.
    fn told_to_end(&mut self) -> bool {
        let reported = sys::take_signals(&self.signals);
        self.reap();
        reported
    }

    /// Kills all that descends from this process, and collects it: no process is left that could start another.
    fn end_all(&mut self) -> io::Result<()> {
        loop {
            self.tree.kill();
            if self.reap() {
                return Ok(());
            }
            let mut waited = [PollFd::new(&self.signals, PollFlags::IN)];
            rustix::io::retry_on_intr(|| poll(&mut waited, Some(&KILL_AGAIN)))?;
            self.told_to_end();
        }
    }

    /// Collects what ended. True where no child is left.
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
            let mut handlers = *handlers;
            (ended.broken_links, ended.broken_links_count) =
                (handlers.broken_links.reported, handlers.broken_links.count);
            handlers.access_control.path_classes.refresh();
            let found = handlers.changes.tell(&handlers.access_control.path_classes);
            (ended.before, ended.ignored) = (found.before, found.ignored);
            (ended.not_kept, ended.untold) = (found.not_kept, found.untold);
        }
        ended
    }
}
