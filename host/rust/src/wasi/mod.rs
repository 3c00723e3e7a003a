//! Functions of `wasi:filesystem` that this host implements, instead of `wasmtime-wasi` or as a check before it.
//!
//! Every function that takes a path accepts only one name in an open directory, so the guest alone resolves
//! paths. Opening a FIFO that was swapped in does not block, a rename preserves modes, and guarded files can be
//! neither opened nor moved.
//!
//! These functions return at once, as all functions do for a guest that may block its thread. Therefore they are
//! linked as synchronous functions, without the overhead of async ones.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

#[cfg(unix)]
use rustix::fs::OFlags;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

use crate::directory::Identity;

pub(crate) mod access_control;
mod files;
#[cfg(target_os = "linux")]
mod list;
#[cfg(target_os = "linux")]
pub(crate) mod mode;
mod name_rules;
mod names;
#[cfg(unix)]
pub(crate) mod open;
#[cfg(windows)]
#[path = "open_windows.rs"]
pub(crate) mod open;
#[cfg(target_os = "linux")]
mod own_links;
#[cfg(target_os = "linux")]
mod read;
mod sharing;
#[cfg(target_os = "linux")]
mod stamped_devices;
#[cfg(target_os = "linux")]
mod stat;
#[cfg(windows)]
mod sync_windows;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
#[cfg(any(windows, test))]
mod windows_names;

pub(crate) use files::{Files, FilesView, LinkTargets};

/// The interface's name in `wasmtime-wasi`. The linker also accepts other patch versions for it.
pub(crate) const TYPES: &str = "wasi:filesystem/types@0.2.12";
pub(crate) const PREOPENS: &str = "wasi:filesystem/preopens@0.2.12";

pub(crate) type Fd = Resource<Descriptor>;
pub(crate) type OpenAt = (Fd, PathFlags, String, OpenFlags, DescriptorFlags);
pub(crate) type RenameAt = (Fd, String, Fd, String);

/// Fails if `wasmtime-wasi` defines its file system under other names. The replacements would then not replace
/// anything, and components would get the stock functions.
pub(crate) fn check_names<T: 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    linker.allow_shadowing(false);
    for (interface, function) in [(TYPES, "[method]descriptor.open-at"), (PREOPENS, "get-directories")] {
        let mut interface_of_stock = linker.instance(interface)?;
        if interface_of_stock.func_wrap(function, |_, (): ()| Ok(())).is_ok() {
            wasmtime::bail!("the runtime has no `{function}` in `{interface}`, which was to be replaced");
        }
    }
    Ok(())
}

/// Replaces functions that `wasmtime-wasi` has added to the linker.
pub(crate) fn add_to_linker<T: FilesView>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    check_names(linker)?;
    linker.allow_shadowing(true);
    linker.instance(PREOPENS)?.func_wrap("get-directories", |store, ()| Ok((get_directories(store)?,)))?;
    let mut types = linker.instance(TYPES)?;
    types.func_wrap("[method]descriptor.open-at", |store, arguments| Ok((answer(open_at(store, arguments))?,)))?;
    names::add_to_linker(&mut types)?;
    #[cfg(target_os = "linux")]
    {
        read::add_to_linker(&mut types)?;
        stat::add_to_linker(&mut types)?;
        list::add_to_linker(&mut types)?;
        mode::add_to_linker(&mut types)?;
    }
    #[cfg(windows)]
    sync_windows::add_to_linker(&mut types)?;
    Ok(())
}

/// Returns the directories that the workspace holds open. The call opens nothing itself.
fn get_directories(mut store: StoreContextMut<'_, impl FilesView>) -> wasmtime::Result<Vec<(Fd, String)>> {
    let preopens = store.data_mut().files().preopens.clone();
    let view = store.data_mut().filesystem();
    let push = |(dir, guest)| Ok((view.table.push(Descriptor::Dir(dir))?, guest));
    preopens.into_iter().map(push).collect()
}

fn open_at(mut store: StoreContextMut<'_, impl FilesView>, arguments: OpenAt) -> FsResult<Fd> {
    let (dir, follow, path, how, flags) = arguments;
    store.data().progress().advance();
    if !is_expected_call(follow, &path, how) {
        return Err(ErrorCode::NotPermitted.into());
    }
    let state = store.data_mut();
    let dir = directory(state.filesystem().table.get(&dir)?)?.clone();
    if path != "." {
        name_rules::check(&path)?;
    }
    match how.contains(OpenFlags::CREATE) {
        true => state.files().access_control.check_new(&dir, &path)?,
        false => state.files().access_control.check_name(&dir, &path)?,
    }
    let (opened, identity) = open(state, dir, path, how, flags)?;
    state.files().access_control.check_opened(&opened, identity)?;
    Ok(state.filesystem().table.push(opened)?)
}

fn open(
    _state: &mut impl FilesView,
    dir: Dir,
    path: String,
    how: OpenFlags,
    flags: DescriptorFlags,
) -> FsResult<(Descriptor, Identity)> {
    Ok(open::open(&dir, &path, how, flags)?)
}

/// Returns whether the open is one that the component makes: it walks from name to name, reads links itself, and
/// creates files exclusively. Any other open could block forever on a FIFO.
fn is_expected_call(follow: PathFlags, path: &str, how: OpenFlags) -> bool {
    let is_new = how == OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    let is_there = how == OpenFlags::empty() || how == OpenFlags::DIRECTORY;
    let is_entry = (path == "." && is_there) || is_name(path);
    !follow.contains(PathFlags::SYMLINK_FOLLOW) && is_entry && (is_new || is_there)
}

/// Returns the result of a function of `wasmtime-wasi`. It never waits, since it may block the thread.
pub(crate) fn at_once<T>(future: impl Future<Output = FsResult<T>>) -> FsResult<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(ErrorCode::WouldBlock.into()),
    }
}

fn directory(descriptor: &Descriptor) -> Result<&Dir, ErrorCode> {
    match descriptor {
        Descriptor::Dir(dir) => Ok(dir),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory),
    }
}

/// Returns whether a path is one name, which cannot lead out of its directory.
pub(crate) fn is_name(path: &str) -> bool {
    #[cfg(test)]
    if crate::fault_injection::is_without(crate::fault_injection::Check::Name) {
        return true;
    }
    !path.is_empty() && path != "." && path != ".." && !path.contains(['/', '\0'])
}

/// Returns the flag that prevents an open from following a symbolic link.
#[cfg(unix)]
fn no_follow() -> OFlags {
    #[cfg(test)]
    if crate::fault_injection::is_without(crate::fault_injection::Check::Link) {
        return OFlags::empty();
    }
    OFlags::NOFOLLOW
}

/// Returns whether the guest may change nothing below a directory.
fn is_read_only(dir: &Dir) -> bool {
    #[cfg(test)]
    if crate::fault_injection::is_without(crate::fault_injection::Check::Right) {
        return false;
    }
    dir.perms.write_not_permitted()
}

/// Converts a system error to a WASI error. Adds a mapping for an error that `wasmtime-wasi` does not map.
#[cfg(unix)]
fn code(errno: rustix::io::Errno) -> ErrorCode {
    use rustix::io::Errno;
    match errno {
        // WASI has no error for too many open files.
        Errno::MFILE | Errno::NFILE => ErrorCode::InsufficientMemory,
        other => ErrorCode::from(std::io::Error::from(other)),
    }
}

/// Converts a result to the form that the linker expects.
pub(crate) fn answer<T>(result: FsResult<T>) -> wasmtime::Result<Result<T, ErrorCode>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}
