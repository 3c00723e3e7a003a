//! Calls that run programs: which files may be run, which programs may open files, and files in memory, which may not
//! be run.

use std::ffi::CString;

use rustix::fs::{FileType, MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use super::existing_entry::ExistingEntry;
use super::{Reply, SyscallHandlers, Try};
use crate::access_control::Unresolved;
use crate::climb;
use crate::files::FileKey;
use crate::path_class::PathClass;
use crate::requested_path::RequestedPath;

/// Flags of `memfd_create`: MFD_NOEXEC_SEAL and MFD_EXEC.
const NOEXEC_SEAL: u32 = 0x8;
const EXEC: u32 = 0x10;
const EXECUTABLE: u32 = 0o111;

impl SyscallHandlers {
    /// Checks whether the command may run a file.
    ///
    /// The kernel resolves the path again, which may lead to another file by then. This check is therefore only the
    /// first of two: [`SyscallHandlers::may_open_files`] checks the program that the kernel loaded.
    pub(super) fn execute(
        &mut self,
        this: Try<'_>,
        requested_path: &RequestedPath,
        follow: bool,
    ) -> Result<Reply, Unresolved> {
        let existing = ExistingEntry::at(requested_path, follow)?;
        let key = FileKey::new(&existing.opened)?;
        self.may_run(this, &existing, key)?;
        Ok(Reply::Continue)
    }

    /// Checks whether the calling program may open files. If it may not, a loader cannot load another program, and no
    /// library can be loaded into a program that the rules hide.
    pub(super) fn may_open_files(&mut self, this: Try<'_>) -> Result<(), Unresolved> {
        if !self.access_control.has_rules() && !self.access_control.names_programs() {
            return Ok(());
        }
        let key = FileKey::of_program(this.call.task)?;
        if self.run_freely.has(key) {
            return Ok(());
        }
        match ExistingEntry::new(this.call.link("exe")?) {
            // The program was run under a name that it no longer has.
            Ok(existing) if existing.removed && self.run.has(key) => Ok(()),
            Err(Errno::ACCESS) if self.run.has(key) => Ok(()),
            existing => self.may_run(this, &existing?, key),
        }
    }

    fn may_run(&mut self, this: Try<'_>, existing: &ExistingEntry, key: FileKey) -> Result<(), Unresolved> {
        if self.access_control.is_loader(climb::identity(&existing.stat)) {
            let cause = "it loads other programs, and `commands.allow` does not name it";
            return Err(self.access_control.refuse(&existing.path, cause, Errno::ACCESS));
        }
        if existing.own || existing.kind != FileType::RegularFile {
            return Ok(());
        }
        match self.access_control.path_class(&existing.path) {
            PathClass::Root { .. } => {
                self.may_read(this, existing)?;
                self.run.add(key);
            }
            // No rule applies outside the roots.
            _ => self.run_freely.add(key),
        }
        Ok(())
    }

    /// Creates a file in memory for the caller that cannot be executed, because Landlock has no rule about files
    /// without a path.
    pub(super) fn make_memory_file(name: &CString, flags: u32) -> Result<Reply, Unresolved> {
        let flags = MemfdFlags::from_bits_retain(flags & !(EXEC | NOEXEC_SEAL));
        let sealed = MemfdFlags::from_bits_retain(NOEXEC_SEAL) | MemfdFlags::CLOEXEC;
        let memfd = match memfd_create(name, flags | sealed) {
            Ok(memfd) => {
                if !flags.contains(MemfdFlags::ALLOW_SEALING) {
                    fcntl_add_seals(&memfd, SealFlags::SEAL)?;
                }
                memfd
            }
            // Before Linux 6.3. The mode stays without execute permission, because `change_metadata` refuses to add it.
            Err(Errno::INVAL) => {
                let memfd = memfd_create(name, flags | MemfdFlags::CLOEXEC)?;
                fchmod(&memfd, Mode::from_raw_mode(0o666))?;
                memfd
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Reply::Give(memfd, flags.contains(MemfdFlags::CLOEXEC)))
    }

    /// Refuses to make a file in memory executable if the command may run only named programs.
    pub(super) fn stays_unrunnable(&mut self, existing: &ExistingEntry, mode: u32) -> Result<(), Unresolved> {
        if existing.own
            && mode & EXECUTABLE != 0
            && existing.kind == FileType::RegularFile
            && self.access_control.names_programs()
        {
            let cause = "only programs that `commands.allow` names are executed, and no file in memory";
            return Err(self.access_control.refuse(&existing.path, cause, Errno::PERM));
        }
        Ok(())
    }
}
