//! Syncs on Windows, which does not sync directories.

use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, HostDescriptor};

use super::{Fd, FilesView, answer, at_once};

/// Replaces the function that `wasmtime-wasi` has added to the linker. For a directory, its error is that of a lack of
/// rights, which a guest cannot tell from a change that failed.
pub(super) fn add_to_linker<T: FilesView>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    types.func_wrap("[method]descriptor.sync", |store: StoreContextMut<'_, T>, (file,): (Fd,)| {
        Ok((answer(sync(store, file))?,))
    })
}

fn sync(mut store: StoreContextMut<'_, impl FilesView>, file: Fd) -> FsResult<()> {
    let mut view = store.data_mut().filesystem();
    match view.table.get(&file)? {
        Descriptor::Dir(_) => Err(ErrorCode::Unsupported.into()),
        Descriptor::File(_) => at_once(view.sync(file)),
    }
}
