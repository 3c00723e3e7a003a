//! Reads files without zeroing the buffer first. The stock function zeroes 64 KiB for each read, which takes most
//! of the time for small files.

use rustix::buffer::spare_capacity;
use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::{Fd, FilesView, answer, code};

/// Maximum number of bytes of one read. A larger buffer would leave the processor's cache before the guest reads
/// it.
const MAX_READ: usize = 256 * 1024;

pub(super) fn add_to_linker<T: FilesView>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.func_wrap("[method]descriptor.read", |store, arguments| Ok((answer(read(store, arguments))?,)))
}

fn read(
    mut store: StoreContextMut<'_, impl FilesView>,
    (fd, length, offset): (Fd, u64, u64),
) -> FsResult<(Vec<u8>, bool)> {
    let view = store.data_mut().filesystem();
    let Descriptor::File(file) = view.table.get(&fd)? else { return Err(ErrorCode::BadDescriptor.into()) };
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(MAX_READ);
    let mut bytes = Vec::with_capacity(length);
    if length > 0 {
        rustix::io::pread(&*file.file, spare_capacity(&mut bytes), offset).map_err(code)?;
    }
    let ended = bytes.is_empty();
    Ok((bytes, ended))
}
