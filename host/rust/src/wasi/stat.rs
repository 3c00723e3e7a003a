//! Metadata of a single name, from one system call.

use rustix::fs::{AtFlags, FileType, Stat, statat};
use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorStat, DescriptorType, ErrorCode, PathFlags};

use super::{Fd, FilesView, answer, code, directory, is_name};

pub(super) fn add_to_linker<T: FilesView>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.func_wrap("[method]descriptor.stat-at", |store, arguments| Ok((answer(stat_at(store, arguments))?,)))
}

fn stat_at(
    mut store: StoreContextMut<'_, impl FilesView>,
    (dir, follow, path): (Fd, PathFlags, String),
) -> FsResult<DescriptorStat> {
    if follow.contains(PathFlags::SYMLINK_FOLLOW) || !is_name(&path) {
        return Err(ErrorCode::NotPermitted.into());
    }
    let view = store.data_mut().filesystem();
    let dir = directory(view.table.get(&dir)?)?;
    Ok(descriptor_stat(&statat(&dir.dir, &path, AtFlags::SYMLINK_NOFOLLOW).map_err(code)?))
}

#[allow(clippy::useless_conversion, reason = "the system counts links in 32 bits on some processors")]
fn descriptor_stat(stat: &Stat) -> DescriptorStat {
    DescriptorStat {
        type_: kind(FileType::from_raw_mode(stat.st_mode)),
        link_count: u64::from(stat.st_nlink),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        data_access_timestamp: time(stat.st_atime, stat.st_atime_nsec),
        data_modification_timestamp: time(stat.st_mtime, stat.st_mtime_nsec),
        status_change_timestamp: time(stat.st_ctime, stat.st_ctime_nsec),
    }
}

/// Returns `None` for a time before 1970, which WASI cannot express.
fn time(seconds: i64, nanoseconds: u64) -> Option<Datetime> {
    Some(Datetime { seconds: u64::try_from(seconds).ok()?, nanoseconds: u32::try_from(nanoseconds).ok()? })
}

/// Converts a file type. FIFOs and sockets have no type of their own in WASI 0.2.
pub(super) fn kind(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::Fifo | FileType::Socket | FileType::Unknown => DescriptorType::Unknown,
    }
}
