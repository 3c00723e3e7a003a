//! The command's processes: all that descend from the warden, which orphans come back to.

use std::collections::HashSet;
use std::fs;

use paddock_warden::protocol::Limits;
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::sys::{self, Reaped};

/// How many threads there may be for each process.
const THREADS_EACH: u64 = 16;

/// Counts, finds and kills the command's processes.
///
/// They are counted from time to time and not as they are forked: a signal that arrives while a call waits to be
/// looked at can make it fail with `EINTR`, which no program expects of `fork`.
pub(crate) struct Tree {
    own: i32,
    most_processes: u64,
    /// Every process group that the command has or had.
    groups: HashSet<i32>,
    /// No group can be made any more.
    closed: bool,
    counted: Count,
}

/// What the last count found.
#[derive(Default)]
struct Count {
    processes: u64,
    threads: u64,
    /// The system's newest process or thread then.
    newest: Option<u64>,
}

impl Tree {
    pub(crate) fn new(limits: &Limits) -> Self {
        let own = rustix::process::getpid().as_raw_pid();
        Self {
            own,
            most_processes: limits.max_processes,
            groups: HashSet::new(),
            closed: false,
            counted: Count::default(),
        }
    }

    /// Remembers a group that is about to be made. False where none may be.
    pub(crate) fn note_group(&mut self, group: i32) -> bool {
        if !self.closed {
            self.groups.insert(group);
        }
        !self.closed
    }

    /// Whether there are more processes or threads than there may be.
    ///
    /// They are counted only if so many were started on the whole system that there could be.
    pub(crate) fn is_over_limit(&mut self) -> bool {
        let most_threads = self.most_processes.saturating_mul(THREADS_EACH);
        let newest = newest_task();
        // Numbers begin anew when all are used up.
        let started = newest.zip(self.counted.newest).and_then(|(now, then)| now.checked_sub(then));
        let started = started.unwrap_or(u64::MAX);
        if self.counted.processes.saturating_add(started) <= self.most_processes
            && self.counted.threads.saturating_add(started) <= most_threads
        {
            return false;
        }
        let mut count = Count { newest, ..Count::default() };
        let mut left = children(self.own);
        while let Some(process) = left.pop() {
            count.processes += 1;
            let threads = field(process, THREADS).map_or(1, i32::unsigned_abs);
            count.threads = count.threads.saturating_add(threads.into());
            if count.processes > self.most_processes || count.threads > most_threads {
                return true;
            }
            left.extend(children(process));
        }
        self.counted = count;
        false
    }

    /// No group can be made from now on.
    pub(crate) fn close(&mut self) {
        self.closed = true;
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

    /// Sends SIGKILL to every process of the command. Group by group first, which what is being forked does not
    /// escape; a number that is another's group by now is out of reach where Landlock scopes signals, and left alone
    /// where it does not.
    pub(crate) fn kill(&self, signals_are_scoped: bool) {
        let found = self.descendants();
        let seen: HashSet<i32> = found.iter().filter_map(|process| field(*process, GROUP)).collect();
        let groups = seen.iter().chain(self.groups.iter().filter(|_| signals_are_scoped));
        for group in groups.filter_map(|it| Pid::from_raw(*it)) {
            // One that is gone needs no signal.
            let _gone = rustix::process::kill_process_group(group, Signal::KILL);
        }
        for process in found.into_iter().filter_map(Pid::from_raw) {
            let _gone = rustix::process::kill_process(process, Signal::KILL);
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

/// The number that a process or thread was given last.
fn newest_task() -> Option<u64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().last()?.parse().ok()
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
const THREADS: usize = 17;

fn parent(process: i32) -> Option<i32> {
    field(process, PARENT)
}

fn field(process: i32, index: usize) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in brackets and may have any character in it.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(index)?.parse().ok()
}
