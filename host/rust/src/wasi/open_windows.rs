//! Opens a single name on Windows.
//!
//! The runtime opens files so that they cannot be renamed or removed meanwhile. Here they can, as on other systems: a
//! guest replaces a file that it has open. Directories stay as the runtime opens them, since it changes entries by the
//! path of their open directory, which therefore has to keep its name.

use std::fs::File as OsFile;
use std::io;
use std::os::windows::fs::MetadataExt;

use cap_fs_ext::OpenOptionsFollowExt;
use cap_primitives::fs::{FollowSymlinks, OpenOptions, open_dir_nofollow};
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags};

use super::sharing;
use crate::directory::Identity;

const FILE_ATTRIBUTE_REPARSE_POINT: u32 = 0x400;

/// Opens `name` in `dir`, or creates the file, with the rights that `wasmtime-wasi` would give it. Also returns its
/// identity.
pub(crate) fn open(
    dir: &Dir,
    name: &str,
    how: OpenFlags,
    flags: DescriptorFlags,
) -> Result<(Descriptor, Identity), ErrorCode> {
    let (is_new, writes) = (how.contains(OpenFlags::CREATE), flags.contains(DescriptorFlags::WRITE));
    let changes = writes || is_new || flags.contains(DescriptorFlags::MUTATE_DIRECTORY);
    if super::is_read_only(dir) && changes {
        return Err(ErrorCode::NotPermitted);
    }
    let is_dir = name == "." || how.contains(OpenFlags::DIRECTORY);
    let opened = if is_dir { open_directory(dir, name) } else { open_file(dir, name, is_new, writes) };
    let opened = opened.map_err(|cause| reason(dir, name, &cause))?;
    // The driver of a reparse point would decide what the file is. Links and junctions are not opened above.
    if opened.metadata().map_err(ErrorCode::from)?.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0 {
        return Err(ErrorCode::NoSuchDevice);
    }
    let identity = Identity::of_file(&opened).map_err(ErrorCode::from)?;
    let mode = if writes { OpenMode::READ | OpenMode::WRITE } else { OpenMode::READ };
    let descriptor = match is_dir {
        true => Descriptor::Dir(Dir::new(opened, dir.perms, mode, true)),
        false => Descriptor::File(File::new(opened, dir.perms, mode, true)),
    };
    Ok((descriptor, identity))
}

fn open_directory(dir: &Dir, name: &str) -> io::Result<OsFile> {
    if name == "." { dir.dir.try_clone() } else { open_dir_nofollow(&dir.dir, name.as_ref()) }
}

fn open_file(dir: &Dir, name: &str, is_new: bool, writes: bool) -> io::Result<OsFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(is_new || writes).create_new(is_new).follow(FollowSymlinks::No);
    cap_primitives::fs::open(&dir.dir, name.as_ref(), &options)
}

fn reason(dir: &Dir, name: &str, cause: &io::Error) -> ErrorCode {
    if sharing::is_violation(cause) {
        return ErrorCode::Busy;
    }
    // The error of opening a directory as a file.
    if cause.kind() == io::ErrorKind::PermissionDenied && is_directory(dir, name) {
        return ErrorCode::IsDirectory;
    }
    ErrorCode::from(cause)
}

fn is_directory(dir: &Dir, name: &str) -> bool {
    let metadata = cap_primitives::fs::stat(&dir.dir, name.as_ref(), FollowSymlinks::No);
    metadata.is_ok_and(|metadata| metadata.is_dir())
}
