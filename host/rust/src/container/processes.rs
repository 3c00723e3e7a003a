//! The processes of one command in a container, which must end with the command.
//!
//! The engine's client can end before these processes, and they can leave their session and their parent. If this
//! process may create a control group (cgroup v2) below the container's, the command is stopped before its first
//! instruction, moved to its own group, and continued: no process can leave the group. Otherwise the processes are
//! found by a variable in their environment, which a process can remove by clearing its environment.

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::Held;
use crate::cgroup::Cgroup;
use crate::hex::hex;

/// Name of the variable in the environment of the command's processes.
const TAG: &str = "PADDOCK_COMMAND";

/// Maximum number of searches for marked processes. Each search kills those that it finds; a process can fork in
/// between.
const ROUNDS: usize = 64;

/// The shell that stops itself and becomes the command when it is continued.
const SHELL: &str = "/bin/sh";
const STOP: &str = r#"kill -STOP $$; exec "$@""#;

/// Time between two searches for the stopped command.
const PAUSE: Duration = Duration::from_millis(3);

/// Processes of one command in a container.
pub(crate) struct Processes {
    /// The variable, as `NAME=VALUE`.
    tag: String,
    group: Option<Cgroup>,
    /// Whether the command has not entered the group yet.
    is_awaited: bool,
    /// The started process, from its entry into the group until its end.
    first: Option<OwnedFd>,
}

impl Processes {
    /// Creates the value for a command that is about to start in the container.
    pub(super) fn new(container: &Held) -> Self {
        let mut nonce = [0; 16];
        // Without random numbers, the tag is this process's id and an address in it, which is less certainly unique.
        let is_random = getrandom::fill(&mut nonce).is_ok();
        let value = if is_random { hex(&nonce) } else { format!("{}-{:p}", std::process::id(), &nonce) };
        let group = has_shell(container).then(|| Cgroup::below(&container.info.pid.to_string())).flatten();
        Self { tag: format!("{TAG}={value}"), is_awaited: group.is_some(), group, first: None }
    }

    pub(super) fn tag(&self) -> &str {
        &self.tag
    }

    /// Returns the command; if it gets a group, the command stops itself until [`Processes::admit`] finds it.
    pub(super) fn held_back(&self, command: &[String]) -> Vec<String> {
        let shell = [SHELL, "-c", STOP, "sh"].map(str::to_owned);
        let stopped = shell.into_iter().filter(|_| self.group.is_some());
        stopped.chain(command.iter().cloned()).collect()
    }

    /// Moves the stopped command to its group and continues it. Returns the time of the next search if it was not
    /// found.
    pub(crate) fn admit(&mut self) -> Option<Instant> {
        let group = self.group.as_ref().filter(|_| self.is_awaited)?;
        let stopped = self.there().find(|(pid, _)| is_stopped(*pid));
        let Some((pid, process)) = stopped else { return Some(Instant::now() + PAUSE) };
        self.is_awaited = false;
        // A command that cannot be moved is identified by its environment.
        drop(enter(group, pid));
        let _ = pidfd_send_signal(&process, Signal::CONT);
        self.first = Some(process);
        None
    }

    /// Returns the started process, whose end can be polled.
    pub(crate) fn first(&self) -> Option<BorrowedFd<'_>> {
        self.first.as_ref().map(AsFd::as_fd)
    }

    /// Kills all processes of the command, because the engine's client does not.
    pub(crate) fn end(&mut self) {
        self.first = None;
        // The tag finds a process that did not enter the group.
        drop(self.group.as_ref().map(Cgroup::kill));
        for _ in 0..ROUNDS {
            let ended = self.there().filter(|(_, process)| pidfd_send_signal(process, Signal::KILL).is_ok());
            if ended.count() == 0 {
                return;
            }
        }
    }

    /// Returns the processes with the tag.
    fn there(&self) -> impl Iterator<Item = (Pid, OwnedFd)> {
        let entries = fs::read_dir("/proc").into_iter().flatten();
        let ids = entries.filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?));
        ids.filter_map(|pid| {
            // The descriptor is opened before the check, so that a reused id cannot be confused with the process.
            let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
            let variables = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let has_tag = variables.split(|byte| *byte == 0).any(|variable| variable == self.tag.as_bytes());
            has_tag.then_some((pid, process))
        })
    }
}

/// Returns whether the container has the shell. Links are resolved in the container.
fn has_shell(container: &Held) -> bool {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(&container.root, SHELL, flags, Mode::empty(), ResolveFlags::IN_ROOT).is_ok()
}

fn is_stopped(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The program name before the state can contain parentheses and spaces.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

fn enter(group: &Cgroup, pid: Pid) -> io::Result<()> {
    write!(group.entry()?, "{pid}")
}
