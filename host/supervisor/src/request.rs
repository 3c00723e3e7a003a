//! Decoded system calls. Their arguments are read from the caller's memory once.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::caller::Call;
use crate::confine::filter::{FCHMODAT2, PRIO_PGRP};
use crate::requested_path::RequestedPath;

/// A decoded system call.
pub(crate) enum Request {
    Open {
        requested_path: RequestedPath,
        flags: OFlags,
        mode: u32,
    },
    Rename {
        from: RequestedPath,
        to: RequestedPath,
        flags: RenameFlags,
    },
    Remove {
        requested_path: RequestedPath,
        directory: bool,
    },
    MakeDirectory {
        requested_path: RequestedPath,
        mode: u32,
    },
    MakeNode {
        requested_path: RequestedPath,
        mode: u32,
    },
    MakeLink {
        requested_path: RequestedPath,
        target: CString,
    },
    Link {
        from: RequestedPath,
        to: RequestedPath,
        follow: bool,
    },
    Metadata {
        requested_path: RequestedPath,
        follow: bool,
        change: Metadata,
    },
    Truncate {
        requested_path: RequestedPath,
        length: u64,
    },
    /// Running a program.
    Execute {
        requested_path: RequestedPath,
        follow: bool,
    },
    /// Creating a file in memory, without a path.
    MemoryFile {
        name: CString,
        flags: u32,
    },
    /// A call about another process or thread, by its id.
    Process(i32),
    Group(i32),
    /// Creating a socket for the Internet, which the command may not use.
    InternetSocket,
    /// Making a process the leader of a new process group, or moving it to an existing one.
    Enter {
        process: i32,
        group: i32,
    },
}

/// A change of metadata.
#[derive(Clone)]
pub(crate) enum Metadata {
    Mode(u32),
    /// User and group id; `u32::MAX` leaves the id unchanged.
    Owner(u32, u32),
    Times(Timestamps),
}

impl Request {
    /// Returns whether the call is checked by a name and then changes the entry with that name, which must not change
    /// in between.
    pub(crate) fn changes_names(&self) -> bool {
        use Request::{Link, MakeDirectory, MakeLink, MakeNode, Remove, Rename};
        matches!(
            self,
            Rename { .. } | Remove { .. } | MakeDirectory { .. } | MakeNode { .. } | MakeLink { .. } | Link { .. }
        )
    }

    pub(crate) fn read(call: &Call) -> Result<Self, Errno> {
        match call.number {
            libc::SYS_openat => Self::open(call, Some(0), 1),
            libc::SYS_renameat => Self::rename(call, (Some(0), 1), (Some(2), 3), 0),
            libc::SYS_renameat2 => Self::rename(call, (Some(0), 1), (Some(2), 3), call.bits(4)),
            libc::SYS_unlinkat => {
                let flags = known(call.bits(2), AtFlags::REMOVEDIR)?;
                Self::remove(call, Some(0), 1, flags.contains(AtFlags::REMOVEDIR))
            }
            libc::SYS_mkdirat => Self::make_directory(call, Some(0), 1),
            libc::SYS_mknodat => Self::make_node(call, Some(0), 1),
            libc::SYS_symlinkat => Self::make_link(call, Some(1), 2),
            libc::SYS_linkat => {
                let flags = known(call.bits(4), AtFlags::SYMLINK_FOLLOW | AtFlags::EMPTY_PATH)?;
                let from = RequestedPath::read_or_descriptor(call, 0, 1, flags.contains(AtFlags::EMPTY_PATH))?;
                let follow = flags.contains(AtFlags::SYMLINK_FOLLOW);
                Ok(Self::Link { from, to: RequestedPath::read(call, Some(2), 3)?, follow })
            }
            libc::SYS_truncate => {
                let length = u64::try_from(call.word(1).cast_signed()).map_err(|_| Errno::INVAL)?;
                Ok(Self::Truncate { requested_path: RequestedPath::read(call, None, 0)?, length })
            }
            libc::SYS_execve => Ok(Self::Execute { requested_path: RequestedPath::read(call, None, 0)?, follow: true }),
            libc::SYS_execveat => {
                let flags = known(call.bits(4), AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)?;
                let requested_path =
                    RequestedPath::read_or_descriptor(call, 0, 1, flags.contains(AtFlags::EMPTY_PATH))?;
                Ok(Self::Execute { requested_path, follow: !flags.contains(AtFlags::SYMLINK_NOFOLLOW) })
            }
            libc::SYS_memfd_create => Ok(Self::MemoryFile { name: call.path(0)?, flags: call.bits(1) }),
            libc::SYS_fchmod => of_descriptor(call, Metadata::Mode(call.bits(1))),
            libc::SYS_fchmodat => Self::metadata(call, 0, Metadata::Mode(call.bits(2)), 0),
            FCHMODAT2 => Self::metadata(call, 0, Metadata::Mode(call.bits(2)), call.bits(3)),
            libc::SYS_fchown => of_descriptor(call, Metadata::Owner(call.bits(1), call.bits(2))),
            libc::SYS_fchownat => Self::metadata(call, 0, Metadata::Owner(call.bits(2), call.bits(3)), call.bits(4)),
            libc::SYS_utimensat => {
                let times = Metadata::Times(times(call.integers(2)?, 1)?);
                if call.word(1) == 0 {
                    of_descriptor(call, times)
                } else {
                    Self::metadata(call, 0, times, call.bits(3))
                }
            }
            libc::SYS_socket => Ok(Self::InternetSocket),
            libc::SYS_setsid => {
                let process = call.process()?;
                Ok(Self::Enter { process, group: process })
            }
            libc::SYS_setpgid => {
                let process = if call.int(0) == 0 { call.process()? } else { call.int(0) };
                Ok(Self::Enter { process, group: if call.int(1) == 0 { process } else { call.int(1) } })
            }
            libc::SYS_kill if call.int(0) < 0 => Ok(Self::Group(call.int(0).wrapping_neg())),
            libc::SYS_setpriority if call.bits(0) == PRIO_PGRP => Ok(Self::Group(call.int(1))),
            // The first argument is IOPRIO_WHO_PGRP.
            libc::SYS_ioprio_set if call.int(0) == 2 => Ok(Self::Group(call.int(1))),
            libc::SYS_setpriority | libc::SYS_ioprio_set => Ok(Self::Process(call.int(1))),
            libc::SYS_kill
            | libc::SYS_tkill
            | libc::SYS_tgkill
            | libc::SYS_rt_sigqueueinfo
            | libc::SYS_rt_tgsigqueueinfo
            | libc::SYS_pidfd_open
            | libc::SYS_prlimit64
            | libc::SYS_sched_setscheduler
            | libc::SYS_sched_setparam
            | libc::SYS_sched_setattr
            | libc::SYS_sched_setaffinity => Ok(Self::Process(call.int(0))),
            _ => Self::read_older(call),
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn read_older(call: &Call) -> Result<Self, Errno> {
        let at =
            |change| Ok(Self::Metadata { requested_path: RequestedPath::read(call, None, 0)?, follow: true, change });
        match call.number {
            libc::SYS_open => Self::open(call, None, 0),
            libc::SYS_creat => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
                Ok(Self::Open { requested_path: RequestedPath::read(call, None, 0)?, flags, mode: call.bits(1) })
            }
            libc::SYS_rename => Self::rename(call, (None, 0), (None, 1), 0),
            libc::SYS_unlink => Self::remove(call, None, 0, false),
            libc::SYS_rmdir => Self::remove(call, None, 0, true),
            libc::SYS_mkdir => Self::make_directory(call, None, 0),
            libc::SYS_mknod => Self::make_node(call, None, 0),
            libc::SYS_symlink => Self::make_link(call, None, 1),
            libc::SYS_link => Ok(Self::Link {
                from: RequestedPath::read(call, None, 0)?,
                to: RequestedPath::read(call, None, 1)?,
                follow: false,
            }),
            libc::SYS_chmod => at(Metadata::Mode(call.bits(1))),
            libc::SYS_chown => at(Metadata::Owner(call.bits(1), call.bits(2))),
            libc::SYS_lchown => {
                let change = Metadata::Owner(call.bits(1), call.bits(2));
                Ok(Self::Metadata { requested_path: RequestedPath::read(call, None, 0)?, follow: false, change })
            }
            libc::SYS_utime => {
                let times = call.integers::<2>(1)?.map(|[accessed, modified]| [accessed, 0, modified, 0]);
                at(Metadata::Times(self::times(times, 1)?))
            }
            libc::SYS_utimes => at(Metadata::Times(times(call.integers(1)?, 1000)?)),
            libc::SYS_futimesat => Self::metadata(call, 0, Metadata::Times(times(call.integers(2)?, 1000)?), 0),
            _ => Err(Errno::NOSYS),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn read_older(_call: &Call) -> Result<Self, Errno> {
        Err(Errno::NOSYS)
    }

    fn open(call: &Call, directory: Option<usize>, path: usize) -> Result<Self, Errno> {
        let flags = OFlags::from_bits_retain(call.bits(path + 1));
        Ok(Self::Open { requested_path: RequestedPath::read(call, directory, path)?, flags, mode: call.bits(path + 2) })
    }

    fn rename(
        call: &Call,
        from: (Option<usize>, usize),
        to: (Option<usize>, usize),
        flags: u32,
    ) -> Result<Self, Errno> {
        let flags = RenameFlags::from_bits(flags).ok_or(Errno::INVAL)?;
        let (from, to) = (RequestedPath::read(call, from.0, from.1)?, RequestedPath::read(call, to.0, to.1)?);
        Ok(Self::Rename { from, to, flags })
    }

    fn remove(call: &Call, directory: Option<usize>, path: usize, is_directory: bool) -> Result<Self, Errno> {
        Ok(Self::Remove { requested_path: RequestedPath::read(call, directory, path)?, directory: is_directory })
    }

    fn make_directory(call: &Call, directory: Option<usize>, path: usize) -> Result<Self, Errno> {
        Ok(Self::MakeDirectory {
            requested_path: RequestedPath::read(call, directory, path)?,
            mode: call.bits(path + 1),
        })
    }

    fn make_node(call: &Call, directory: Option<usize>, path: usize) -> Result<Self, Errno> {
        Ok(Self::MakeNode { requested_path: RequestedPath::read(call, directory, path)?, mode: call.bits(path + 1) })
    }

    /// The target is argument 0; the directory applies only to the path of the link.
    fn make_link(call: &Call, directory: Option<usize>, path: usize) -> Result<Self, Errno> {
        Ok(Self::MakeLink { target: call.path(0)?, requested_path: RequestedPath::read(call, directory, path)? })
    }

    fn metadata(call: &Call, directory: usize, change: Metadata, flags: u32) -> Result<Self, Errno> {
        let flags = known(flags, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT)?;
        let requested_path =
            RequestedPath::read_or_descriptor(call, directory, directory + 1, flags.contains(AtFlags::EMPTY_PATH))?;
        Ok(Self::Metadata { requested_path, follow: !flags.contains(AtFlags::SYMLINK_NOFOLLOW), change })
    }
}

fn of_descriptor(call: &Call, change: Metadata) -> Result<Request, Errno> {
    let opened: OwnedFd = call.descriptor(call.int(0))?;
    Ok(Request::Metadata { requested_path: RequestedPath::Descriptor(opened), follow: true, change })
}

fn known(flags: u32, known: AtFlags) -> Result<AtFlags, Errno> {
    let flags = AtFlags::from_bits_retain(flags);
    if known.contains(flags) { Ok(flags) } else { Err(Errno::INVAL) }
}

/// Converts the access and modification times, each as seconds and a fraction in units of `unit` nanoseconds. `None`
/// stands for the present time.
fn times(times: Option<[i64; 4]>, unit: i64) -> Result<Timestamps, Errno> {
    let time = |seconds, fraction: i64| {
        if unit != 1 && !(0..1_000_000).contains(&fraction) {
            return Err(Errno::INVAL);
        }
        Ok(Timespec { tv_sec: seconds, tv_nsec: fraction.wrapping_mul(unit) })
    };
    match times {
        None => {
            let now = Timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW };
            Ok(Timestamps { last_access: now, last_modification: now })
        }
        Some([accessed, accessed_part, modified, modified_part]) => Ok(Timestamps {
            last_access: time(accessed, accessed_part)?,
            last_modification: time(modified, modified_part)?,
        }),
    }
}
