//! Changes of files with several hard links, some of which may be outside the roots.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, chmodat, openat2, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::existing_entry::ExistingEntry;
use super::{Locked, SyscallHandlers};
use crate::access_control::Unresolved;
use crate::changes::copy;
use crate::climb;
use crate::path_class::PathClass;
use paddock_supervisor::protocol::HardLinks;

/// Maximum number of replaced files that are reported; all are counted.
const MAX_REPORTED: usize = 20;
/// Mode bits that a copy gets: all except set-user-ID and set-group-ID.
const MODE: u32 = 0o1777;

/// Files that were replaced by a copy.
#[derive(Default)]
pub(crate) struct BrokenLinks {
    pub(crate) reported: Vec<String>,
    pub(crate) count: u64,
}

impl SyscallHandlers {
    /// Returns the file that a change applies to: the found file, or a copy that replaces it if the file has further
    /// names that the command did not create and the policy breaks such links. `keeps_content` is false if the change
    /// empties the file.
    pub(super) fn unshare(
        &mut self,
        existing: ExistingEntry,
        keeps_content: bool,
    ) -> Result<ExistingEntry, Unresolved> {
        let links = existing.stat.st_nlink;
        let is_in_root = matches!(self.access_control.path_class(&existing.path), PathClass::Root { .. });
        let is_whole = existing.kind != FileType::RegularFile || existing.own || links <= 1 || !is_in_root;
        if is_whole || self.links.cover(&existing.opened, links) {
            return Ok(existing);
        }
        match self.access_control.hard_links {
            HardLinks::Keep => Ok(existing),
            HardLinks::Refuse => {
                let cause = format!("it has {links} hard links, and the others may be outside the workspace");
                Err(self.access_control.refuse(&existing.path, &cause, Errno::ACCESS))
            }
            HardLinks::Break => {
                let copied = self.replace(&existing, keeps_content);
                let copied = copied.map_err(|error| {
                    let cause = format!("it has {links} hard links, and cannot be copied for a change: {error}");
                    self.access_control.refuse(&existing.path, &cause, error)
                })?;
                self.broken_links.count = self.broken_links.count.saturating_add(1);
                if self.broken_links.reported.len() < MAX_REPORTED {
                    self.broken_links.reported.push(existing.path.to_string_lossy().into_owned());
                }
                Ok(copied)
            }
        }
    }

    /// Replaces a file by a copy under the found name. The other names keep the original file.
    fn replace(&self, existing: &ExistingEntry, keeps_content: bool) -> Result<ExistingEntry, Errno> {
        let (Some(parent), Some(name)) = (existing.path.parent(), existing.path.file_name()) else {
            return Err(Errno::ACCESS);
        };
        let _locked = self.lock.as_ref().map(Locked::new).transpose()?;
        let directory = open(parent)?;
        let temporary = format!(".paddock-{:016x}.tmp", RandomState::new().hash_one(name));
        let replaced = || {
            if keeps_content {
                copy(existing.opened.as_fd(), &directory, &temporary, self.max_file_bytes).map_err(errno)?;
            } else {
                let making = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                rustix::fs::openat(&directory, &temporary, making, Mode::RUSR | Mode::WUSR)?;
            }
            chmodat(&directory, &temporary, Mode::from_raw_mode(existing.stat.st_mode & MODE), AtFlags::empty())?;
            // The copy may replace only the file that was checked.
            let there = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if climb::identity(&there) != climb::identity(&existing.stat) {
                return Err(Errno::ACCESS);
            }
            let new_file = rustix::fs::openat(
                &directory,
                &temporary,
                OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            renameat(&directory, &temporary, &directory, name)?;
            ExistingEntry::new(new_file)
        };
        replaced().inspect_err(|_| {
            let _absent = unlinkat(&directory, &temporary, AtFlags::empty());
        })
    }
}

fn open(directory: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(CWD, directory, flags, Mode::empty(), resolve)
}

/// Returns the error number of an error of the standard library.
pub(super) fn errno(error: std::io::Error) -> Errno {
    match error.kind() {
        std::io::ErrorKind::FileTooLarge => Errno::FBIG,
        _ => Errno::from_io_error(&error).unwrap_or(Errno::IO),
    }
}
