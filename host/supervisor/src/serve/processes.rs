//! Signals and other calls about processes, which reach only the command's own processes; and process groups.

use rustix::io::Errno;

use super::{Reply, SyscallHandlers};
use crate::access_control::Unresolved;
use crate::tree::numbered;

impl SyscallHandlers {
    /// Allows a call about a process of the command. All arguments of the check are in registers, so that the kernel
    /// acts on the checked values.
    pub(super) fn to_process(&self, process: i32) -> Result<Reply, Unresolved> {
        if self.tree.has(process) {
            return Ok(Reply::Continue);
        }
        let there = numbered(process).is_some_and(|it| rustix::process::test_kill_process(it) != Err(Errno::SRCH));
        Err(if there { Errno::PERM } else { Errno::SRCH }.into())
    }

    pub(super) fn to_group(&self, group: i32) -> Result<Reply, Unresolved> {
        if self.tree.has_group(group) { Ok(Reply::Continue) } else { Err(Errno::PERM.into()) }
    }

    /// Allows a process to lead or enter a process group. The group is remembered before it is created, so that it can
    /// be killed at once, including processes that are being forked. A process creates a group only with its own id as
    /// number; any other number must be that of a remembered group.
    pub(super) fn enter_group(&mut self, process: i32, group: i32) -> Result<Reply, Unresolved> {
        let may_enter = match process == group {
            true => self.tree.has(process) && self.tree.note_group(group),
            false => self.tree.knows_group(group),
        };
        if may_enter { Ok(Reply::Continue) } else { Err(Errno::PERM.into()) }
    }
}
