//! Signals and the like, which reach the command's own processes only; and their groups.

use rustix::io::Errno;
use rustix::process::Pid;

use super::{Reply, SyscallHandlers};
use crate::access_control::Unresolved;

impl SyscallHandlers {
    /// Everything that is decided by is in registers: the kernel acts on what was looked at.
    pub(super) fn to_process(&self, process: i32) -> Result<Reply, Unresolved> {
        if self.tree.has(process) {
            return Ok(Reply::Continue);
        }
        let there = Pid::from_raw(process).is_some_and(|it| rustix::process::test_kill_process(it) != Err(Errno::SRCH));
        Err(if there { Errno::PERM } else { Errno::SRCH }.into())
    }

    pub(super) fn to_group(&self, group: i32) -> Result<Reply, Unresolved> {
        if self.tree.has_group(group) { Ok(Reply::Continue) } else { Err(Errno::PERM.into()) }
    }

    /// Known before it comes into being: a group can be killed at once, with all that is being forked. A process begins
    /// one by its own number; any other is one that is known already, or none.
    pub(super) fn enter_group(&mut self, process: i32, group: i32) -> Result<Reply, Unresolved> {
        let may_enter = match process == group {
            true => self.tree.has(process) && self.tree.note_group(group),
            false => self.tree.knows_group(group),
        };
        if may_enter { Ok(Reply::Continue) } else { Err(Errno::PERM.into()) }
    }
}
