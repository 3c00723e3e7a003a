//! Opening a single name so that nothing put there meanwhile can hang the thread.
//!
//! A guest looks at what a name is before it opens it, but a process beside it can
//! swap in a FIFO between the two, whose plain open waits for ever. So an open of
//! what exists never waits, and hands out nothing but regular files and directories.
//! A link is `loop`, anything else `no-such-device`, as a FIFO without a
//! reader and a socket are in POSIX.

use std::fs::File as OsFile;

use rustix::fs::{FileType, Mode, OFlags, fcntl_setfl, fstat, openat};
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

/// Whether this is an open of one name as it is: no link followed, nothing made or cut.
pub(crate) fn applies(follow: PathFlags, path: &str, how: OpenFlags, flags: DescriptorFlags) -> bool {
    let synced = DescriptorFlags::FILE_INTEGRITY_SYNC
        | DescriptorFlags::DATA_INTEGRITY_SYNC
        | DescriptorFlags::REQUESTED_WRITE_SYNC;
    super::is_name(path)
        && !follow.contains(PathFlags::SYMLINK_FOLLOW)
        && (how & !OpenFlags::DIRECTORY) == OpenFlags::empty()
        && (flags & synced) == DescriptorFlags::empty()
}

/// Opens `name` in `dir` with the rights that `wasmtime-wasi` would give it.
pub(crate) fn open(dir: &Dir, name: &str, how: OpenFlags, flags: DescriptorFlags) -> Result<Descriptor, ErrorCode> {
    let (mode, access) = mode(flags);
    if super::is_read_only(dir) && mode.contains(OpenMode::WRITE) {
        return Err(ErrorCode::NotPermitted);
    }
    let never_wait = OFlags::NONBLOCK | OFlags::NOCTTY | super::no_follow() | OFlags::CLOEXEC;
    let only_dir = if how.contains(OpenFlags::DIRECTORY) { OFlags::DIRECTORY } else { OFlags::empty() };
    let opened = openat(&dir.dir, name, access | never_wait | only_dir, Mode::empty()).map_err(reason)?;
    let directory = |opened| Descriptor::Dir(Dir::new(OsFile::from(opened), dir.perms, mode, true));
    if !only_dir.is_empty() {
        return Ok(directory(opened));
    }
    let kind = FileType::from_raw_mode(fstat(&opened).map_err(reason)?.st_mode);
    if kind == FileType::Directory {
        return Ok(directory(opened));
    }
    if kind != FileType::RegularFile {
        return Err(ErrorCode::NoSuchDevice);
    }
    // Some file systems, FUSE ones among them, heed the flag on regular files.
    fcntl_setfl(&opened, OFlags::empty()).map_err(reason)?;
    Ok(Descriptor::File(File::new(OsFile::from(opened), dir.perms, mode, true)))
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
        other => ErrorCode::from(std::io::Error::from(other)),
    }
}
