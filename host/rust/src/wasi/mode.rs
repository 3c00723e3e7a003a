//! Carrying over what WASI cannot set: when a guest's temporary file replaces a
//! file, it gets that file's mode bits, owner and extended attributes first.
//!
//! Everything goes through descriptors that were opened without following a link.

use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fsetxattr,
    fstat, openat, statat,
};
use rustix::io::{Errno, Result as OsResult};
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Whether a rename is that of a guest's temporary file, within one directory or between two.
pub(super) fn applies(from: &str, to: &str) -> bool {
    super::is_name(from) && super::is_name(to) && from.starts_with(".paddock-") && from.ends_with(".tmp")
}

/// Gives the file `from` what the regular file `to` has; nothing where there is none.
///
/// Into a directory that may not be changed the rename is refused, but the guest's own file has got what the other one
/// has: so an overlay's copy of a file keeps its mode. Nothing there is touched, and nothing is told that it could not read.
pub(super) fn carry(from_dir: &Dir, from: &str, to_dir: &Dir, to: &str) -> Result<(), ErrorCode> {
    if super::is_read_only(from_dir) {
        return Err(ErrorCode::NotPermitted);
    }
    carry_all(from_dir, from, to_dir, to).map_err(|errno| ErrorCode::from(std::io::Error::from(errno)))?;
    if super::is_read_only(to_dir) { Err(ErrorCode::NotPermitted) } else { Ok(()) }
}

fn carry_all(from_dir: &Dir, from: &str, to_dir: &Dir, to: &str) -> OsResult<()> {
    // Looked at first: opening what needs no care, or may not be read, would only fail.
    let old = match statat(&to_dir.dir, to, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) if is_regular(&old) => old,
        Ok(_) | Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let new = open(from_dir, from, OFlags::RDWR)?;
    let stat = fstat(&new)?;
    if !is_regular(&stat) {
        return Err(Errno::INVAL);
    }
    if (stat.st_uid, stat.st_gid) != (old.st_uid, old.st_gid) {
        carry_owner(&new, &old)?;
    }
    match open(to_dir, to, OFlags::RDONLY) {
        Ok(source) => carry_attributes(&source, &new)?,
        // A file that may be replaced but not read keeps its mode, and its attributes cannot be told.
        Err(Errno::ACCESS) => {}
        Err(errno) => return Err(errno),
    }
    // Without the set-ID bits, which a write in place would clear too.
    fchmod(&new, Mode::from_raw_mode(old.st_mode) - (Mode::SUID | Mode::SGID))
}

fn open(dir: &Dir, name: &str, access: OFlags) -> OsResult<OwnedFd> {
    let never_wait = OFlags::NONBLOCK | OFlags::NOCTTY | super::no_follow() | OFlags::CLOEXEC;
    openat(&dir.dir, name, access | never_wait, Mode::empty())
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// The group alone where the owner may not be set: whoever edits a shared file keeps it shared.
fn carry_owner(new: &OwnedFd, old: &Stat) -> OsResult<()> {
    let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
    match fchown(new, Some(owner), Some(group)).or_else(|_| fchown(new, None, Some(group))) {
        Ok(()) | Err(Errno::PERM | Errno::INVAL | Errno::NOTSUP) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn carry_attributes(old: &OwnedFd, new: &OwnedFd) -> OsResult<()> {
    let mut names = Vec::with_capacity(4096);
    let listed = grown(&mut names, |names| flistxattr(old, spare_capacity(names)));
    match listed {
        Ok(()) => {}
        Err(Errno::NOTSUP) => return Ok(()),
        Err(errno) => return Err(errno),
    }
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = Vec::with_capacity(4096);
        let copied = grown(&mut value, |value| fgetxattr(old, name, spare_capacity(value)))
            .and_then(|()| fsetxattr(new, name, &value, XattrFlags::empty()));
        match copied {
            // `security.` and `trusted.` names are the system's to give, and gone is gone.
            Ok(()) | Err(Errno::NOTSUP | Errno::PERM | Errno::NODATA) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Reads into a buffer that grows until it is large enough; the kernel ends it at 64 KiB.
fn grown(buffer: &mut Vec<u8>, mut read: impl FnMut(&mut Vec<u8>) -> OsResult<usize>) -> OsResult<()> {
    loop {
        buffer.clear();
        match read(buffer) {
            Err(Errno::RANGE) if buffer.capacity() < 1 << 20 => buffer.reserve(buffer.capacity() * 2),
            other => return other.map(|_| ()),
        }
    }
}
