//! Links of a container, which can well be absolute: there is a whole tree that they are of.
//!
//! The stock functions refuse to tell or to make such a link, since elsewhere it says something of the machine's own
//! files. Neither follows one: that is for the guest to do, by names in the container.

use rustix::fs::{readlinkat, symlinkat};
use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, HostDescriptor};

use super::{Fd, answer, at_once, code, directory, is_name, is_read_only};
use crate::sandbox::State;

pub(super) fn add_to_linker(types: &mut LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    types.func_wrap("[method]descriptor.readlink-at", |store, arguments| {
        Ok((answer(readlink_at(store, arguments))?,))
    })?;
    types.func_wrap("[method]descriptor.symlink-at", |store, arguments| Ok((answer(symlink_at(store, arguments))?,)))
}

fn readlink_at(mut store: StoreContextMut<'_, State>, (dir, path): (Fd, String)) -> FsResult<String> {
    let is_contained = store.data().is_contained;
    let mut view = store.data_mut().filesystem();
    if !is_contained || !is_name(&path) {
        return at_once(view.readlink_at(dir, path));
    }
    let dir = directory(view.table.get(&dir)?)?;
    let target = readlinkat(&dir.dir, &path, Vec::new()).map_err(code)?;
    Ok(target.into_string().map_err(|_| ErrorCode::IllegalByteSequence)?)
}

fn symlink_at(mut store: StoreContextMut<'_, State>, (dir, target, path): (Fd, String, String)) -> FsResult<()> {
    let is_contained = store.data().is_contained;
    let mut view = store.data_mut().filesystem();
    if !is_contained || !is_name(&path) {
        return at_once(view.symlink_at(dir, target, path));
    }
    let dir = directory(view.table.get(&dir)?)?;
    if is_read_only(dir) {
        return Err(ErrorCode::NotPermitted.into());
    }
    Ok(symlinkat(&target, &dir.dir, &path).map_err(code)?)
}
