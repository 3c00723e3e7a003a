//! The command's processes: all that descend from the supervisor, which orphans come back to.

use std::collections::HashSet;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::sys::{self, Reaped};

/// Finds and kills the command's processes.
pub(crate) struct Tree {
    own: i32,
    /// Signals of this process reach the command's only, by Landlock.
    signals_are_scoped: bool,
    groups: Mutex<Groups>,
}

/// Groups that are remembered before those that have ended are forgotten.
const FEW_GROUPS: usize = 1024;

struct Groups {
    /// Process groups that the command has or had.
    known: HashSet<i32>,
    /// How many have to be known before it is looked which of them are still there.
    next_look: usize,
    /// None can be made any more.
    closed: bool,
}

impl Tree {
    pub(crate) fn new(signals_are_scoped: bool) -> Self {
        let own = rustix::process::getpid().as_raw_pid();
        Self {
            own,
            signals_are_scoped,
            groups: Mutex::new(Groups { known: HashSet::new(), next_look: FEW_GROUPS, closed: false }),
        }
    }

    /// Remembers a group that is about to be made, by the process that is to lead it. False where none may be made.
    ///
    /// Groups that have ended are forgotten when there are many: a number that is remembered for nothing could be
    /// another's by now.
    pub(crate) fn note_group(&self, group: i32) -> bool {
        let mut groups = self.groups();
        if groups.closed {
            return false;
        }
        if groups.known.len() >= groups.next_look {
            groups.known.retain(|known| is_there(*known));
            groups.next_look = (2 * groups.known.len()).max(FEW_GROUPS);
        }
        groups.known.insert(group);
        true
    }

    /// Whether a group of that number is remembered.
    pub(crate) fn knows_group(&self, group: i32) -> bool {
        self.groups().known.contains(&group)
    }

    /// Processes and threads, as far as they are within limits; `None` where they are not.
    pub(crate) fn count(&self, most_processes: u64, most_threads: u64) -> Option<(u64, u64)> {
        let (mut processes, mut threads) = (0_u64, 0_u64);
        let mut left = children(self.own);
        while let Some(process) = left.pop() {
            processes += 1;
            threads = threads.saturating_add(field(process, THREADS).map_or(1, i32::unsigned_abs).into());
            if processes > most_processes || threads > most_threads {
                return None;
            }
            left.extend(children(process));
        }
        Some((processes, threads))
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

    /// Sends SIGKILL to every process of the command, which can make no group from now on. Group by group first, which
    /// what is being forked does not escape, and which is done before thousands of processes could be looked for.
    ///
    /// The number of a group that is gone may be another's by now: where Landlock scopes signals, that one is out of
    /// reach; where it does not, only groups that are seen are killed.
    pub(crate) fn kill(&self) {
        let mut groups = self.groups();
        groups.closed = true;
        if self.signals_are_scoped {
            groups.known.iter().for_each(|group| kill_group(*group));
        }
        let found = self.descendants();
        let seen: HashSet<i32> = found.iter().filter_map(|process| field(*process, GROUP)).collect();
        seen.into_iter().for_each(kill_group);
        for process in found.into_iter().filter_map(Pid::from_raw) {
            // One that is gone needs no signal.
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

    fn groups(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All processes that descend from this one.
    pub(crate) fn descendants(&self) -> Vec<i32> {
        let mut found = children(self.own);
        let mut next = 0;
        while let Some(process) = found.get(next).copied() {
            found.extend(children(process));
            next += 1;
        }
        found
    }
}

/// Whether a group has a process.
fn is_there(group: i32) -> bool {
    let tried = Pid::from_raw(group).map(rustix::process::test_kill_process_group);
    tried.is_some_and(|tried| tried != Err(Errno::SRCH))
}

fn kill_group(group: i32) {
    if let Some(group) = Pid::from_raw(group) {
        let _gone = rustix::process::kill_process_group(group, Signal::KILL);
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
