//! Opening a single name so that nothing put there meanwhile can hang the thread.
//!
//! A guest looks at what a name is before it opens it, but a process beside it can
//! swap in a FIFO between the two, whose plain open waits for ever. So an open of
//! what exists never waits, and hands out nothing but regular files and directories.
//! A link is `loop`, anything else `no-such-device`, as a FIFO without a
//! reader and a socket are in POSIX. A device that is swapped in is opened and closed unread:
//! looking at it first by `O_PATH` would take three more system calls for each file, and only root can make one.

use std::fs::File as OsFile;

use rustix::fs::{FileType, Mode, OFlags, Stat, fcntl_setfl, fstat, openat};
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags};

use super::mode::PRIVATE;
use crate::directory::Identity;

/// Opens `name` in `dir` with the rights that `wasmtime-wasi` would give it, or makes the file; with what it is.
pub(crate) fn open(
    dir: &Dir,
    name: &str,
    how: OpenFlags,
    flags: DescriptorFlags,
) -> Result<(Descriptor, Identity), ErrorCode> {
    let (mode, access) = mode(flags);
    let is_new = how.contains(OpenFlags::CREATE);
    let changes = mode.contains(OpenMode::WRITE) || is_new || flags.contains(DescriptorFlags::MUTATE_DIRECTORY);
    if super::is_read_only(dir) && changes {
        return Err(ErrorCode::NotPermitted);
    }
    let never_wait = OFlags::NONBLOCK | OFlags::NOCTTY | super::no_follow() | OFlags::CLOEXEC;
    let only_dir = if how.contains(OpenFlags::DIRECTORY) { OFlags::DIRECTORY } else { OFlags::empty() };
    let making = if is_new { OFlags::CREATE | OFlags::EXCL } else { OFlags::empty() };
    let bits = Mode::from_raw_mode(if name.ends_with(PRIVATE) { 0o600 } else { 0o666 });
    let opened =
        openat(&dir.dir, name, access | never_wait | only_dir | making | synced(flags), bits).map_err(reason)?;
    let stat = fstat(&opened).map_err(reason)?;
    let identity = identity(&stat);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok((Descriptor::Dir(Dir::new(OsFile::from(opened), dir.perms, mode, true)), identity)),
        FileType::RegularFile => {
            // Some file systems, FUSE ones among them, heed the flag on regular files.
            fcntl_setfl(&opened, OFlags::empty()).map_err(reason)?;
            Ok((Descriptor::File(File::new(OsFile::from(opened), dir.perms, mode, true)), identity))
        }
        _ => Err(ErrorCode::NoSuchDevice),
    }
}

/// What makes each write wait for the disk, where that is asked for.
fn synced(flags: DescriptorFlags) -> OFlags {
    let flag = |asked, flag| if flags.contains(asked) { flag } else { OFlags::empty() };
    flag(DescriptorFlags::FILE_INTEGRITY_SYNC, OFlags::SYNC)
        | flag(DescriptorFlags::DATA_INTEGRITY_SYNC, OFlags::DSYNC)
        | flag(DescriptorFlags::REQUESTED_WRITE_SYNC, OFlags::RSYNC)
}

fn identity(stat: &Stat) -> Identity {
    Identity::new(stat.st_dev, stat.st_ino)
}

fn mode(flags: DescriptorFlags) -> (OpenMode, OFlags) {
    match (flags.contains(DescriptorFlags::READ), flags.contains(DescriptorFlags::WRITE)) {
        (true, true) => (OpenMode::READ | OpenMode::WRITE, OFlags::RDWR),
        (false, true) => (OpenMode::WRITE, OFlags::WRONLY),
        (_, false) => (OpenMode::READ, OFlags::RDONLY),
    }
}

fn reason(errno: rustix::io::Errno) -> ErrorCode {
    match errno {
        // What opening a FIFO for writing, or a socket, says.
        rustix::io::Errno::NXIO => ErrorCode::NoSuchDevice,
        other => super::code(other),
    }
}
