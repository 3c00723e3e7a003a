//! Permission bits, which WASI 0.2 neither tells nor sets.
//!
//! When a guest's temporary file replaces a file, it gets that file's bits, owner and attributes first. What a file or
//! directory has is told in the hash of its metadata, whose upper word ends in the bits; they are set by a rename to a
//! name that says them, which renames nothing. The policy tells guests of this: `host.keeps_modes`.
//!
//! Everything goes through descriptors that were opened without following a link. Set-ID bits are never given: a write
//! in place would clear them too.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, XattrFlags, chmod, fchmod, fchown, fgetxattr, flistxattr,
    fsetxattr, fstat, openat, statat,
};
use rustix::io::{Errno, Result as OsResult};
use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;
use wasmtime_wasi::filesystem::{Dir, WasiFilesystemView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, MetadataHashValue, PathFlags};

use super::access_control::file;
use super::own_links::OwnLinks;
use super::{Fd, FilesView, answer, code, directory, is_name};

/// What the names of a guest's own files begin with.
const OWN: &str = ".paddock-";
/// How a temporary file is named that nobody else may read, since what it replaces may not be.
pub(super) const PRIVATE: &str = ".private.tmp";
/// How a name begins that says permission bits, by four octal digits.
const REQUEST: &str = ".paddock-mode-";
/// Bits that are told; of these, set-ID ones are not set.
const TOLD: u32 = 0o7777;
pub(crate) const SET: u32 = 0o1777;

/// Extended attributes that are carried over: what a user notes at a file, and who may use it. Others can grant rights
/// to run with, which new content is not to have.
const CARRIED_PREFIX: &[u8] = b"user.";
const CARRIED: [&[u8]; 2] = [b"system.posix_acl_access", b"system.posix_acl_default"];

pub(super) fn add_to_linker<T: FilesView>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.func_wrap("[method]descriptor.metadata-hash", |store, (fd,)| Ok((answer(metadata_hash(store, &fd))?,)))?;
    types.func_wrap("[method]descriptor.metadata-hash-at", |store, arguments| {
        Ok((answer(metadata_hash_at(store, arguments))?,))
    })
}

fn metadata_hash(mut store: StoreContextMut<'_, impl FilesView>, fd: &Fd) -> FsResult<MetadataHashValue> {
    let view = store.data_mut().filesystem();
    Ok(hash(&fstat(file(view.table.get(fd)?)).map_err(code)?))
}

fn metadata_hash_at(
    mut store: StoreContextMut<'_, impl FilesView>,
    (dir, follow, name): (Fd, PathFlags, String),
) -> FsResult<MetadataHashValue> {
    if follow.contains(PathFlags::SYMLINK_FOLLOW) || !is_name(&name) {
        return Err(ErrorCode::NotPermitted.into());
    }
    let view = store.data_mut().filesystem();
    let dir = directory(view.table.get(&dir)?)?;
    Ok(hash(&statat(&dir.dir, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(code)?))
}

fn hash(stat: &Stat) -> MetadataHashValue {
    let half = |half: u8| {
        let mut hasher = DefaultHasher::new();
        (half, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mode).hash(&mut hasher);
        (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec).hash(&mut hasher);
        hasher.finish()
    };
    MetadataHashValue { lower: half(0), upper: (half(1) & !u64::from(TOLD)) | u64::from(stat.st_mode & TOLD) }
}

/// The bits that a name says; none where it is any other name.
pub(super) fn requested(name: &str) -> Option<Result<Mode, ErrorCode>> {
    let digits = name.strip_prefix(REQUEST)?;
    let is_octal = digits.len() == 4 && digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let bits = u32::from_str_radix(digits, 8).ok().filter(|_| is_octal);
    Some(bits.map(|bits| Mode::from_raw_mode(bits & SET)).ok_or(ErrorCode::Invalid))
}

/// Gives the file or directory `name` these bits. A file with further names keeps its own: they may be outside.
pub(super) fn set(dir: &Dir, name: &str, mode: Mode) -> Result<(), ErrorCode> {
    if super::is_read_only(dir) {
        return Err(ErrorCode::NotPermitted);
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(&dir.dir, name, flags, Mode::empty()).map_err(code)?;
    let stat = fstat(&opened).map_err(code)?;
    let is_alone = is_regular(&stat) && stat.st_nlink == 1;
    if !is_alone && FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(ErrorCode::NotPermitted);
    }
    // By the descriptor, though it gives no access: bits may forbid opening what they are of.
    chmod(crate::mount::way_to(&opened.into()), mode).map_err(code)
}

/// Whether a name is that of a guest's temporary file.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(OWN) && name.ends_with(".tmp")
}

/// Gives the file `from` what the regular file `to` has; nothing where there is none.
///
/// Into a directory that may not be changed the rename is refused, but the guest's own file has got what the other one
/// has: so an overlay's copy of a file keeps its mode. Nothing there is touched, and nothing is told that it could not read.
pub(super) fn carry(
    links: &OwnLinks,
    (from_dir, from): (&Dir, &str),
    (to_dir, to): (&Dir, &str),
) -> Result<(), ErrorCode> {
    if super::is_read_only(from_dir) {
        return Err(ErrorCode::NotPermitted);
    }
    carry_all(links, (from_dir, from), (to_dir, to)).map_err(code)?;
    if super::is_read_only(to_dir) { Err(ErrorCode::NotPermitted) } else { Ok(()) }
}

fn carry_all(links: &OwnLinks, (from_dir, from): (&Dir, &str), (to_dir, to): (&Dir, &str)) -> OsResult<()> {
    // Looked at first: opening what needs no care, or may not be read, would only fail.
    let old = match statat(&to_dir.dir, to, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) if is_regular(&old) => old,
        Ok(_) | Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let new = open(from_dir, from, OFlags::RDWR)?;
    let stat = fstat(&new)?;
    // A second name, or another owner, says that somebody else put it there.
    if !is_regular(&stat) || stat.st_nlink != 1 || stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Errno::INVAL);
    }
    // Of a file with further names, which may be anybody's, who owns it and what it carries says nothing of this one.
    if links.others(&old) == 1 {
        if (stat.st_uid, stat.st_gid) != (old.st_uid, old.st_gid) {
            carry_owner(&new, &old)?;
        }
        match open(to_dir, to, OFlags::RDONLY) {
            Ok(source) => carry_attributes(&source, &new)?,
            // A file that may be replaced but not read keeps its mode, and its attributes cannot be told.
            Err(Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    fchmod(&new, Mode::from_raw_mode(old.st_mode & SET))
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
    let is_carried = |name: &&[u8]| name.starts_with(CARRIED_PREFIX) || CARRIED.contains(name);
    for name in names.split(|byte| *byte == 0).filter(is_carried) {
        let mut value = Vec::with_capacity(4096);
        let copied = grown(&mut value, |value| fgetxattr(old, name, spare_capacity(value)))
            .and_then(|()| fsetxattr(new, name, &value, XattrFlags::empty()));
        match copied {
            // What the file system does not take, or is gone by now, is not carried.
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
