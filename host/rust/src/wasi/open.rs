//! Opens a single name so that no concurrently created FIFO can block the thread.
//!
//! A guest checks the type of an entry before it opens it, but another process can swap in a FIFO in between, on
//! which a plain open blocks forever. So an open never waits, and returns only regular files and directories. A
//! symbolic link fails with `loop`. Any other type fails with `no-such-device`, as POSIX has it for a FIFO without
//! a reader and for a socket. A device that is swapped in is opened and closed unread: a check through `O_PATH`
//! would cost three more system calls for each file, and only root can create a device.

use std::fs::File as OsFile;

use rustix::fs::{FileType, Mode, OFlags, Stat, fcntl_setfl, fstat, openat};
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags};

use crate::directory::Identity;

/// Suffix of a temporary file that only its owner may read, since it replaces a file that may be private.
const PRIVATE: &str = ".private.tmp";

/// Flag by which reads wait for the disk too. Apple's systems have none.
#[cfg(not(target_vendor = "apple"))]
const READS_SYNCED: OFlags = OFlags::RSYNC;
#[cfg(target_vendor = "apple")]
const READS_SYNCED: OFlags = OFlags::SYNC;

/// Opens `name` in `dir`, or creates the file, with the rights that `wasmtime-wasi` would give it. Also returns its
/// identity.
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
            // Some file systems, such as FUSE ones, apply `O_NONBLOCK` to regular files.
            fcntl_setfl(&opened, OFlags::empty()).map_err(reason)?;
            Ok((Descriptor::File(File::new(OsFile::from(opened), dir.perms, mode, true)), identity))
        }
        _ => Err(ErrorCode::NoSuchDevice),
    }
}

/// Returns the flags that make each write wait for the disk, if the guest requests them.
fn synced(flags: DescriptorFlags) -> OFlags {
    let flag = |requested_flag, flag| if flags.contains(requested_flag) { flag } else { OFlags::empty() };
    flag(DescriptorFlags::FILE_INTEGRITY_SYNC, OFlags::SYNC)
        | flag(DescriptorFlags::DATA_INTEGRITY_SYNC, OFlags::DSYNC)
        | flag(DescriptorFlags::REQUESTED_WRITE_SYNC, READS_SYNCED)
}

/// Returns the identity as `std` has it, which makes an unsigned number of the device's on every system.
#[cfg_attr(target_os = "linux", expect(clippy::unnecessary_cast, reason = "other systems have a signed number"))]
fn identity(stat: &Stat) -> Identity {
    Identity::new(stat.st_dev as u64, stat.st_ino)
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
        // The error of opening a FIFO for writing, or a socket.
        rustix::io::Errno::NXIO => ErrorCode::NoSuchDevice,
        other => super::code(other),
    }
}
