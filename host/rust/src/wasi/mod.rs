//! Where this host does more than `wasmtime-wasi`: opening what was swapped in
//! meanwhile without hanging, and carrying modes over a rename.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::filesystem::{Descriptor, Dir};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};

use crate::sandbox::State;

#[cfg(target_os = "linux")]
mod mode;
#[cfg(target_os = "linux")]
mod open;

/// The interface as `wasmtime-wasi` defines it; the linker matches a component's own patch version with it.
const TYPES: &str = "wasi:filesystem/types@0.2.12";

type Fd = Resource<Descriptor>;
type OpenAt = (Fd, PathFlags, String, OpenFlags, DescriptorFlags);
type RenameAt = (Fd, String, Fd, String);

/// Puts these functions in the place of those that `wasmtime-wasi` has put there.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap_async("[method]descriptor.open-at", |store, arguments| {
        Box::new(async move { Ok((answer(open_at(store, arguments).await)?,)) })
    })?;
    types.func_wrap_async("[method]descriptor.rename-at", |store, arguments| {
        Box::new(async move { Ok((answer(rename_at(store, arguments).await)?,)) })
    })
}

async fn open_at(mut store: StoreContextMut<'_, State>, arguments: OpenAt) -> FsResult<Fd> {
    let (dir, follow, path, how, flags) = arguments;
    store.data().control.progress.advance();
    let mut view = store.data_mut().filesystem();
    #[cfg(target_os = "linux")]
    if open::applies(follow, &path, how, flags) {
        let opened = open::open(directory(view.table.get(&dir)?)?, &path, how, flags)?;
        return Ok(view.table.push(opened)?);
    }
    view.open_at(dir, follow, path, how, flags).await
}

async fn rename_at(mut store: StoreContextMut<'_, State>, arguments: RenameAt) -> FsResult<()> {
    let (dir, from, to_dir, to) = arguments;
    let mut view = store.data_mut().filesystem();
    #[cfg(target_os = "linux")]
    if mode::applies(&from, &to) {
        let (from_dir, into_dir) = (directory(view.table.get(&dir)?)?, directory(view.table.get(&to_dir)?)?);
        mode::carry(from_dir, &from, into_dir, &to)?;
    }
    view.rename_at(dir, from, to_dir, to).await
}

#[cfg(target_os = "linux")]
fn directory(descriptor: &Descriptor) -> Result<&Dir, ErrorCode> {
    match descriptor {
        Descriptor::Dir(dir) => Ok(dir),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory),
    }
}

/// Whether a path is one name, which cannot lead out of its directory.
#[cfg(target_os = "linux")]
fn is_name(path: &str) -> bool {
    !path.is_empty() && path != "." && path != ".." && !path.contains(['/', '\0'])
}

fn answer<T>(result: FsResult<T>) -> wasmtime::Result<Result<T, ErrorCode>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}
