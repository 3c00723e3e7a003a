//! Reading a file without clearing the buffer first: the stock function zeroes
//! 64 KiB for each read, which for small files is most of its time.

use rustix::buffer::spare_capacity;
use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::{Fd, FilesView, answer, code};

/// Most bytes of one read: more would leave the processor's cache before the guest sees them.
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
