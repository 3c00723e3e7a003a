//! Programs: which files are run, which programs may open files, and files in memory, which are none.

use std::ffi::CString;

use rustix::fs::{FileType, MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use super::found::Found;
use super::{Reply, SyscallHandlers, Try};
use crate::access_control::Unresolved;
use crate::climb;
use crate::files::FileKey;
use crate::path_class::PathClass;
use crate::requested_path::RequestedPath;

/// Of a file in memory: that nobody may run, and that was asked to be run.
const NOEXEC_SEAL: u32 = 0x8;
const EXEC: u32 = 0x10;
const EXECUTABLE: u32 = 0o111;

impl SyscallHandlers {
    /// May a file be run?
    ///
    /// The kernel looks for it again by the path that the caller gave, which may lead to another file by then. So this is
    /// no more than the first of two looks: [`SyscallHandlers::may_open_files`] is the second, at the program that the kernel took.
    pub(super) fn execute(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        follow: bool,
    ) -> Result<Reply, Unresolved> {
        let found = Found::at(requested_path, follow)?;
        let key = FileKey::new(&found.opened)?;
        self.may_run(this, &found, key)?;
        Ok(Reply::Continue)
    }

    /// May the program that makes a call open files? Without any, a loader loads nothing, and nothing is loaded into a
    /// program that rules hide.
    pub(super) fn may_open_files(&mut self, this: Try<'_>) -> Result<(), Unresolved> {
        if !self.access_control.has_rules() && !self.access_control.names_programs() {
            return Ok(());
        }
        let key = FileKey::of_program(this.call.task)?;
        if self.run_freely.has(key) {
            return Ok(());
        }
        match Found::new(this.call.link("exe")?) {
            // It was run under a name that it has no more.
            Ok(found) if found.removed && self.run.has(key) => Ok(()),
            Err(Errno::ACCESS) if self.run.has(key) => Ok(()),
            found => self.may_run(this, &found?, key),
        }
    }

    fn may_run(&mut self, this: Try<'_>, found: &Found, key: FileKey) -> Result<(), Unresolved> {
        if self.access_control.is_loader(climb::identity(&found.stat)) {
            let cause = "it loads other programs, and `commands.allow` does not name it";
            return Err(self.access_control.refuse(&found.path, cause, Errno::ACCESS));
        }
        if found.own || found.kind != FileType::RegularFile {
            return Ok(());
        }
        match self.access_control.path_class(&found.path) {
            PathClass::Root { .. } => {
                self.may_read(this, found)?;
                self.run.add(key);
            }
            // No rule says anything of it.
            _ => self.run_freely.add(key),
        }
        Ok(())
    }

    /// Makes a file in memory for the caller, which cannot be run: Landlock has no rule about files that have no path.
    pub(super) fn make_memory_file(name: &CString, flags: u32) -> Result<Reply, Unresolved> {
        let flags = MemfdFlags::from_bits_retain(flags & !(EXEC | NOEXEC_SEAL));
        let sealed = MemfdFlags::from_bits_retain(NOEXEC_SEAL) | MemfdFlags::CLOEXEC;
        let made = match memfd_create(name, flags | sealed) {
            Ok(made) => {
                if !flags.contains(MemfdFlags::ALLOW_SEALING) {
                    fcntl_add_seals(&made, SealFlags::SEAL)?;
                }
                made
            }
            // Before Linux 6.3. The mode stays so: `change_metadata` refuses others.
            Err(Errno::INVAL) => {
                let made = memfd_create(name, flags | MemfdFlags::CLOEXEC)?;
                fchmod(&made, Mode::from_raw_mode(0o666))?;
                made
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Reply::Give(made, flags.contains(MemfdFlags::CLOEXEC)))
    }

    /// Refuses a mode by which a file in memory could be run, where only named programs are.
    pub(super) fn stays_unrunnable(&mut self, found: &Found, mode: u32) -> Result<(), Unresolved> {
        if found.own
            && mode & EXECUTABLE != 0
            && found.kind == FileType::RegularFile
            && self.access_control.names_programs()
        {
            let cause = "only what `commands.allow` names is run, and no file in memory";
            return Err(self.access_control.refuse(&found.path, cause, Errno::PERM));
        }
        Ok(())
    }
}
