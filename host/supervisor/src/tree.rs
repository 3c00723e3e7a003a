//! The command's processes: all descendants of the supervisor, which is also the new parent of orphaned processes.
//!
//! The host ends them by a control group where it may create one; this works without that right too.

use std::collections::HashSet;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::sys::{self, Reaped};

/// Finds and kills the command's processes.
pub(crate) struct Tree {
    own: i32,
    /// Whether Landlock limits the signals of this process to the command's processes.
    signals_are_scoped: bool,
    groups: Mutex<Groups>,
}

/// Number of remembered process groups at which ended groups are first dropped.
const FEW_GROUPS: usize = 1024;

struct Groups {
    /// Process groups that the command has or had.
    known: HashSet<i32>,
    /// Number of remembered groups at which ended groups are dropped next.
    next_scan: usize,
    /// Whether no group can be created any more.
    closed: bool,
}

impl Tree {
    pub(crate) fn new(signals_are_scoped: bool) -> Self {
        let own = rustix::process::getpid().as_raw_pid();
        Self {
            own,
            signals_are_scoped,
            groups: Mutex::new(Groups { known: HashSet::new(), next_scan: FEW_GROUPS, closed: false }),
        }
    }

    /// Remembers a group that is about to be created, by its number, which is the process id of its leader. Returns
    /// false if no group may be created any more.
    ///
    /// Ended groups are dropped when there are many, because another process group can get the number of an ended one.
    pub(crate) fn note_group(&self, group: i32) -> bool {
        let mut groups = self.groups();
        if groups.closed {
            return false;
        }
        if groups.known.len() >= groups.next_scan {
            groups.known.retain(|known| is_there(*known));
            groups.next_scan = (2 * groups.known.len()).max(FEW_GROUPS);
        }
        groups.known.insert(group);
        true
    }

    /// Returns whether a group with this number is remembered.
    pub(crate) fn knows_group(&self, group: i32) -> bool {
        self.groups().known.contains(&group)
    }

    /// Returns the number of processes and threads, or `None` if one of them exceeds its limit.
    pub(crate) fn count(&self, max_processes: u64, max_threads: u64) -> Option<(u64, u64)> {
        let (mut processes, mut threads) = (0_u64, 0_u64);
        let mut left = children(self.own);
        while let Some(process) = left.pop() {
            processes += 1;
            threads = threads.saturating_add(field(process, THREADS).map_or(1, i32::unsigned_abs).into());
            if processes > max_processes || threads > max_threads {
                return None;
            }
            left.extend(children(process));
        }
        Some((processes, threads))
    }

    /// Returns whether a process or thread is the command's.
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

    /// Returns whether a process group is the command's. No group is partly the command's, because a group lies within
    /// one session.
    pub(crate) fn has_group(&self, group: i32) -> bool {
        self.descendants().iter().any(|process| field(*process, GROUP) == Some(group))
    }

    /// Returns whether a process or thread has a controlling terminal.
    pub(crate) fn has_terminal(task: i32) -> bool {
        field(task, TERMINAL).is_some_and(|it| it != 0)
    }

    /// Sends SIGKILL to every process of the command, which can create no process group from now on. Groups are killed
    /// first: a process that is being forked cannot escape that, and it is done before thousands of processes could be
    /// listed.
    ///
    /// The number of an ended group can belong to another group by now. If Landlock scopes signals, that group is out
    /// of reach; otherwise only groups with a visible process of the command are killed.
    pub(crate) fn kill(&self) {
        let mut groups = self.groups();
        groups.closed = true;
        if self.signals_are_scoped {
            groups.known.iter().for_each(|group| kill_group(*group));
        }
        let processes = self.descendants();
        let groups: HashSet<i32> = processes.iter().filter_map(|process| field(*process, GROUP)).collect();
        groups.into_iter().for_each(kill_group);
        for process in processes.into_iter().filter_map(numbered) {
            // A process that has ended needs no signal.
            let _gone = rustix::process::kill_process(process, Signal::KILL);
        }
    }

    /// Collects ended processes, including orphans, and returns whether no child is left.
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

    /// Returns all descendants of this process.
    pub(crate) fn descendants(&self) -> Vec<i32> {
        let mut processes = children(self.own);
        let mut next = 0;
        while let Some(process) = processes.get(next).copied() {
            processes.extend(children(process));
            next += 1;
        }
        processes
    }
}

/// Returns the process or process group with a number; `None` if there is none with such a number. The kernel shows -1 as
/// the group of a process that is ending, commands pass any number, and calls take a negative one for something else.
pub(crate) fn numbered(number: i32) -> Option<Pid> {
    Some(number).filter(|number| *number > 0).and_then(Pid::from_raw)
}

/// Returns whether a process group has a process.
fn is_there(group: i32) -> bool {
    let tried = numbered(group).map(rustix::process::test_kill_process_group);
    tried.is_some_and(|tried| tried != Err(Errno::SRCH))
}

fn kill_group(group: i32) {
    if let Some(group) = numbered(group) {
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

/// Indices of fields in `/proc/PID/stat`, counted from 0 at the field after the name.
const PARENT: usize = 1;
const GROUP: usize = 2;
const TERMINAL: usize = 4;
const THREADS: usize = 17;

fn parent(process: i32) -> Option<i32> {
    field(process, PARENT)
}

fn field(process: i32, index: usize) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in parentheses and may contain any character.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(index)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{is_there, numbered};

    #[test]
    fn no_process_or_group_has_a_negative_number() {
        assert!([i32::MIN, -1, 0].into_iter().all(|number| numbered(number).is_none() && !is_there(number)));
        let own = rustix::process::getpid();
        assert_eq!(numbered(own.as_raw_pid()), Some(own));
    }
}
