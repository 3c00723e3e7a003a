//! The command's processes: all that descend from the warden, which orphans come back to.

use std::fs;

use paddock_warden::protocol::Limits;
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::sys::{self, Reaped};

/// How many threads there may be for each process.
const THREADS_EACH: u64 = 16;

/// Counts and finds the command's processes.
pub(crate) struct Tree {
    own: i32,
    most_processes: u64,
    /// At most so many there are: those of the last count, and all that were started since.
    processes: u64,
    threads: u64,
}

impl Tree {
    pub(crate) fn new(limits: &Limits) -> Self {
        let own = rustix::process::getpid().as_raw_pid();
        Self { own, most_processes: limits.max_processes, processes: 1, threads: 1 }
    }

    /// Whether one more process or thread may be started.
    pub(crate) fn may_start(&mut self, thread: bool) -> bool {
        if !self.has_room() {
            let all = self.descendants();
            self.processes = count(all.len());
            self.threads = all.iter().map(|process| count(threads(*process).len())).sum();
            if !self.has_room() {
                return false;
            }
        }
        self.threads = self.threads.saturating_add(1);
        if !thread {
            self.processes = self.processes.saturating_add(1);
        }
        true
    }

    /// No process can start another one from now on.
    pub(crate) fn close(&mut self) {
        self.most_processes = 0;
    }

    /// Whether a process or thread is the command's.
    pub(crate) fn has(&self, task: i32) -> bool {
        let mut process = task;
        loop {
            match parent(process) {
                Some(parent) if parent == self.own => return true,
                Some(parent) if parent > 1 => process = parent,
                _ => return false,
            }
        }
    }

    /// Whether a process group is: none is partly the command's, since groups are within sessions.
    pub(crate) fn has_group(&self, group: i32) -> bool {
        self.descendants().iter().any(|process| field(*process, GROUP) == Some(group))
    }

    /// Whether a process has a controlling terminal.
    pub(crate) fn has_terminal(task: i32) -> bool {
        field(task, TERMINAL).is_some_and(|it| it != 0)
    }

    /// Sends SIGKILL to every process of the command.
    pub(crate) fn kill(&self) {
        for process in self.descendants() {
            if let Some(pid) = Pid::from_raw(process) {
                // One that is gone needs no signal.
                let _gone = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
    }

    /// Collects what ended, orphans too. The last value says that there is no child left.
    pub(crate) fn reap(&self, mut ended: impl FnMut(&Reaped)) -> bool {
        loop {
            match sys::reap() {
                Ok(Some(reaped)) => ended(&reaped),
                Ok(None) => return false,
                Err(Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }

    fn has_room(&self) -> bool {
        self.processes < self.most_processes && self.threads < self.most_processes.saturating_mul(THREADS_EACH)
    }

    fn descendants(&self) -> Vec<i32> {
        let mut found = children(self.own);
        let mut next = 0;
        while let Some(process) = found.get(next).copied() {
            found.extend(children(process));
            next += 1;
        }
        found
    }
}

fn children(process: i32) -> Vec<i32> {
    let lists = threads(process).into_iter().map(|thread| format!("/proc/{process}/task/{thread}/children"));
    let lists = lists.filter_map(|path| fs::read_to_string(path).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|it| it.parse().ok()).collect::<Vec<_>>()).collect()
}

fn threads(process: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    threads.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Fields of `/proc/PID/stat`, counted from the one behind the name.
const PARENT: usize = 1;
const GROUP: usize = 2;
const TERMINAL: usize = 4;

fn parent(process: i32) -> Option<i32> {
    field(process, PARENT)
}

fn field(process: i32, index: usize) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in brackets and may have any character in it.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(index)?.parse().ok()
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
