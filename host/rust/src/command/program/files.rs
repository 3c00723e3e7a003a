//! The functions of `wasi:filesystem` that take an open file or directory and are subject to rules or limits.

use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource, ResourceType};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DirectoryEntry, ErrorCode, HostDescriptor, HostDirectoryEntryStream, NewTimestamp,
};
use wasmtime_wasi::p2::{DynOutputStream, FsResult, ReaddirIterator};

use super::output::Bounded;
use super::state::State;
use crate::bindings::exports::paddock::files::commands::Access;
use crate::wasi::{Fd, answer, at_once};

type Store<'s> = StoreContextMut<'s, State>;
type Entries = Resource<ReaddirIterator>;
type Output = Resource<DynOutputStream>;

/// Maximum number of open listings of a program. Each holds all names of its directory.
const MAX_LISTINGS: usize = 64;

/// Replaces functions of `wasmtime-wasi` in the linker by these.
pub(super) fn add_to_linker(types: &mut LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    types.resource("descriptor", ResourceType::host::<Descriptor>(), |mut store, fd| store.data_mut().close(fd))?;
    types.resource("directory-entry-stream", ResourceType::host::<ReaddirIterator>(), |mut store, entries| {
        store.data_mut().close_listing(entries)
    })?;
    types.func_wrap("[method]descriptor.set-times", |store, arguments| Ok((answer(set_times(store, arguments))?,)))?;
    types.func_wrap("[method]descriptor.set-size", |store, arguments| Ok((answer(set_size(store, arguments))?,)))?;
    types.func_wrap("[method]descriptor.write", |store, arguments| Ok((answer(write(store, arguments))?,)))?;
    types.func_wrap("[method]descriptor.write-via-stream", |store, (fd, offset)| {
        Ok((answer(stream(store, &fd, Some(offset)))?,))
    })?;
    types.func_wrap("[method]descriptor.append-via-stream", |store, (fd,)| Ok((answer(stream(store, &fd, None))?,)))?;
    types.func_wrap("[method]descriptor.read-directory", |store, (fd,)| Ok((answer(read_directory(store, &fd))?,)))?;
    types.func_wrap("[method]directory-entry-stream.read-directory-entry", |store, (entries,)| {
        Ok((answer(read_directory_entry(store, &entries))?,))
    })
}

/// Replaces functions of `wasi:filesystem/preopens` in the same way.
pub(super) fn add_preopens_to_linker(preopens: &mut LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    preopens.func_wrap("get-directories", |mut store: Store<'_>, (): ()| Ok((store.data_mut().preopens()?,)))
}

/// Sets times. A file that is open for reading is sufficient.
fn set_times(mut store: Store<'_>, (fd, access, modification): (Fd, NewTimestamp, NewTimestamp)) -> FsResult<()> {
    let state = store.data_mut();
    let (resolved, is_directory) = (state.resolved(&fd)?, state.open_file(&fd).is_err());
    state.rights.check(&resolved, Access::Change, is_directory)?;
    if !is_directory {
        let links = at_once(state.view().stat(Fd::new_borrow(fd.rep())))?.link_count;
        state.rights.check_sole(&resolved, links)?;
    }
    at_once(state.view().set_times(fd, access, modification))
}

fn set_size(mut store: Store<'_>, (fd, size): (Fd, u64)) -> FsResult<()> {
    let state = store.data_mut();
    if size > state.max_file_bytes {
        return Err(ErrorCode::FileTooLarge.into());
    }
    at_once(state.view().set_size(fd, size))
}

fn write(mut store: Store<'_>, (fd, bytes, offset): (Fd, Vec<u8>, u64)) -> FsResult<u64> {
    let state = store.data_mut();
    if offset.saturating_add(bytes.len() as u64) > state.max_file_bytes {
        return Err(ErrorCode::FileTooLarge.into());
    }
    at_once(state.view().write(fd, bytes, offset))
}

/// Returns a stream that writes to a file at an offset, or at its end.
fn stream(mut store: Store<'_>, fd: &Fd, position: Option<u64>) -> FsResult<Output> {
    let state = store.data_mut();
    let (file, max) = (state.open_file(fd)?, state.max_file_bytes);
    let mut view = state.view();
    let borrowed = Fd::new_borrow(fd.rep());
    let stream = match position {
        Some(offset) => view.write_via_stream(borrowed, offset)?,
        None => view.append_via_stream(borrowed)?,
    };
    let stream = view.table.delete(stream)?;
    Ok(view.table.push(Box::new(Bounded { stream, file, position, max }) as DynOutputStream)?)
}

fn read_directory(mut store: Store<'_>, fd: &Fd) -> FsResult<Entries> {
    let state = store.data_mut();
    let resolved = state.resolved(fd)?;
    if state.listings.len() >= MAX_LISTINGS {
        return Err(ErrorCode::InsufficientMemory.into());
    }
    let entries = at_once(state.view().read_directory(Fd::new_borrow(fd.rep())))?;
    state.listings.insert(entries.rep(), resolved);
    Ok(entries)
}

/// Returns the next entry that the rules show. Names that are not UTF-8 are left out, because they would end the
/// listing.
fn read_directory_entry(mut store: Store<'_>, entries: &Entries) -> FsResult<Option<DirectoryEntry>> {
    let state = store.data_mut();
    let resolved = state.listings.get(&entries.rep()).cloned().ok_or(ErrorCode::BadDescriptor)?;
    loop {
        match at_once(state.view().read_directory_entry(Resource::new_borrow(entries.rep()))) {
            Ok(Some(entry)) if !state.rights.shows(&resolved.below(&entry.name), entry.type_) => {}
            Err(error) if error.downcast_ref() == Some(&ErrorCode::IllegalByteSequence) => {
                state.rights.changes.unreadable_names += 1;
            }
            answer => return answer,
        }
    }
}
