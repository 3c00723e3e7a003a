//! Permission bits, which WASI 0.2 neither reports nor sets.
//!
//! When a guest's temporary file replaces a file, it first gets that file's permission bits, owner and
//! attributes. The metadata hash reports the bits of a file or directory, at the low end of its upper word. A guest
//! sets bits by a rename to a name that encodes them, which renames nothing. The policy announces this to guests as
//! `host.keeps_modes`.
//!
//! All operations use descriptors that were opened without following a link. Set-ID bits are never set: a write in
//! place would clear them too.

use std::hash::{DefaultHasher, Hasher};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, XattrFlags, chmod, fchmod, fchown, fgetxattr, flistxattr,
    fsetxattr, fstat, openat, statat,
};
use rustix::io::{Errno, Result as OsResult};
use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, MetadataHashValue, PathFlags};

use super::access_control::file;
use super::own_links::OwnLinks;
use super::{Fd, FilesView, answer, code, directory, is_name};

/// Prefix of the names of a guest's own files.
const OWN: &str = ".paddock-";
/// Prefix of a name that requests permission bits; four octal digits follow.
const REQUEST: &str = ".paddock-mode-";
/// Bits that the metadata hash reports. Of these, the set-ID bits cannot be set.
const MODE_BITS: u32 = 0o7777;
/// Bit of the upper word of a metadata hash that says that the file system changes the hash with every change of the
/// file. The policy announces it to guests as `host.has_stamps`.
const STAMP_BIT: u64 = 0o10000;
pub(crate) const SET: u32 = 0o1777;

/// Extended attributes that are carried over: a user's own, and access control lists. Others can grant privileges
/// to a program, which new content must not inherit.
const CARRIED_PREFIX: &[u8] = b"user.";
const CARRIED: [&[u8]; 2] = [b"system.posix_acl_access", b"system.posix_acl_default"];

pub(super) fn add_to_linker<T: FilesView>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.func_wrap("[method]descriptor.metadata-hash", |store, (fd,)| Ok((answer(metadata_hash(store, &fd))?,)))?;
    types.func_wrap("[method]descriptor.metadata-hash-at", |store, arguments| {
        Ok((answer(metadata_hash_at(store, arguments))?,))
    })
}

fn metadata_hash(mut store: StoreContextMut<'_, impl FilesView>, fd: &Fd) -> FsResult<MetadataHashValue> {
    let state = store.data_mut();
    let descriptor = state.filesystem().table.get(fd)?;
    let stat = fstat(file(descriptor)).map_err(code)?;
    let Descriptor::Dir(dir) = descriptor else { return Ok(hash(&stat, false)) };
    let dir = Arc::clone(&dir.dir);
    Ok(hash(&stat, state.files().stamped_devices.contain(stat.st_dev, &dir, ".")))
}

fn metadata_hash_at(
    mut store: StoreContextMut<'_, impl FilesView>,
    (dir, follow, name): (Fd, PathFlags, String),
) -> FsResult<MetadataHashValue> {
    if follow.contains(PathFlags::SYMLINK_FOLLOW) || !is_name(&name) {
        return Err(ErrorCode::NotPermitted.into());
    }
    let state = store.data_mut();
    let dir = Arc::clone(&directory(state.filesystem().table.get(&dir)?)?.dir);
    let stat = statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(code)?;
    let is_file_or_directory = is_regular(&stat) || is_directory(&stat);
    let is_stamp = is_file_or_directory && state.files().stamped_devices.contain(stat.st_dev, &dir, &name);
    Ok(hash(&stat, is_stamp))
}

/// Returns the hash of an entry. The name of a file is not part of it, because the content of a moved file is the same.
#[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
fn hash(stat: &Stat, is_stamp: bool) -> MetadataHashValue {
    let numbers = [stat.st_dev as u64, stat.st_ino as u64, stat.st_size as u64, stat.st_mode as u64];
    let (modified, changed) =
        ([stat.st_mtime as u64, stat.st_mtime_nsec as u64], [stat.st_ctime as u64, stat.st_ctime_nsec as u64]);
    // They are written at once: a write for each number takes longer than the hash.
    let mut bytes = [0; 64];
    for (place, number) in bytes.chunks_exact_mut(8).zip(numbers.into_iter().chain(modified).chain(changed)) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    let half = |half: u8| {
        let mut hasher = hasher.clone();
        hasher.write_u8(half);
        hasher.finish()
    };
    let flags = u64::from(stat.st_mode & MODE_BITS) | if is_stamp { STAMP_BIT } else { 0 };
    MetadataHashValue { lower: half(0), upper: (half(1) & !u64::from(MODE_BITS) & !STAMP_BIT) | flags }
}

/// Returns the bits that a name requests, or `None` for any other name.
pub(super) fn requested(name: &str) -> Option<Result<Mode, ErrorCode>> {
    let digits = name.strip_prefix(REQUEST)?;
    let is_octal = digits.len() == 4 && digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let bits = u32::from_str_radix(digits, 8).ok().filter(|_| is_octal);
    Some(bits.map(|bits| Mode::from_raw_mode(bits & SET)).ok_or(ErrorCode::Invalid))
}

/// Sets the permission bits of the file or directory `name`. Refuses a file with further hard links, since they may
/// be outside.
pub(super) fn set(dir: &Dir, name: &str, mode: Mode) -> Result<(), ErrorCode> {
    if super::is_read_only(dir) {
        return Err(ErrorCode::NotPermitted);
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(&dir.dir, name, flags, Mode::empty()).map_err(code)?;
    let stat = fstat(&opened).map_err(code)?;
    let is_alone = is_regular(&stat) && stat.st_nlink == 1;
    if !is_alone && !is_directory(&stat) {
        return Err(ErrorCode::NotPermitted);
    }
    // The descriptor is open with `O_PATH`: the current bits may forbid any other open.
    chmod(crate::mount::way_to(&opened.into()), mode).map_err(code)
}

/// Returns whether the name is that of a guest's temporary file.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(OWN) && name.ends_with(".tmp")
}

/// Copies mode, owner and attributes of the regular file `to`, if it exists, to the file `from`.
///
/// If the directory of `to` is read-only, this function still copies them and then fails, so the rename is refused.
/// This is how an overlay's copy of a file gets its mode. Nothing in that directory changes, and the guest learns
/// nothing that it could not read.
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
    // Checked before the open, which is unnecessary for other kinds of entries and may fail for them.
    let old = match statat(&to_dir.dir, to, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) if is_regular(&old) => old,
        Ok(_) | Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let new = open(from_dir, from, OFlags::RDWR)?;
    let stat = fstat(&new)?;
    // A second hard link or another owner shows that another program created the file.
    if !is_regular(&stat) || stat.st_nlink != 1 || stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Errno::INVAL);
    }
    // The owner and attributes of a file with further hard links say nothing about this path: anyone may have
    // created the link.
    if links.others(&old) == 1 {
        if (stat.st_uid, stat.st_gid) != (old.st_uid, old.st_gid) {
            carry_owner(&new, &old)?;
        }
        match open(to_dir, to, OFlags::RDONLY) {
            Ok(source) => carry_attributes(&source, &new)?,
            // A file that may be replaced but not read keeps its mode. Its attributes cannot be read.
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

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Sets the owner and group, or only the group if the owner may not be set: an edit of a shared file keeps it
/// shared.
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
            // Skips attributes that the file system does not accept, or that no longer exist.
            Ok(()) | Err(Errno::NOTSUP | Errno::PERM | Errno::NODATA) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Calls `read` with a growing buffer until it is large enough. The kernel limits the data to 64 KiB.
fn grown(buffer: &mut Vec<u8>, mut read: impl FnMut(&mut Vec<u8>) -> OsResult<usize>) -> OsResult<()> {
    loop {
        buffer.clear();
        match read(buffer) {
            Err(Errno::RANGE) if buffer.capacity() < 1 << 20 => buffer.reserve(buffer.capacity() * 2),
            other => return other.map(|_| ()),
        }
    }
}
