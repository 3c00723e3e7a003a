//! Where this host does more than `wasmtime-wasi`: opening what was swapped in
//! meanwhile without hanging, carrying modes over a rename, and reading at the
//! system's own speed.
//!
//! These functions answer at once, as all do for a guest that may block its
//! thread: they are called without the detour that a function which waits needs.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

#[cfg(target_os = "linux")]
use rustix::fs::OFlags;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::Descriptor;
#[cfg(target_os = "linux")]
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};

#[cfg(target_os = "linux")]
use crate::container::kernel;
use crate::sandbox::State;

#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod list;
#[cfg(target_os = "linux")]
mod mode;
#[cfg(target_os = "linux")]
pub(crate) mod open;
#[cfg(target_os = "linux")]
mod read;
#[cfg(target_os = "linux")]
mod stat;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod weakened;

/// The interface as `wasmtime-wasi` defines it; the linker matches a component's own patch version with it.
pub(crate) const TYPES: &str = "wasi:filesystem/types@0.2.12";
pub(crate) const PREOPENS: &str = "wasi:filesystem/preopens@0.2.12";

pub(crate) type Fd = Resource<Descriptor>;
pub(crate) type OpenAt = (Fd, PathFlags, String, OpenFlags, DescriptorFlags);
pub(crate) type RenameAt = (Fd, String, Fd, String);

/// Puts these functions in the place of those that `wasmtime-wasi` has put there.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap("[method]descriptor.open-at", |store, arguments| Ok((answer(open_at(store, arguments))?,)))?;
    types.func_wrap("[method]descriptor.rename-at", |store, arguments| Ok((answer(rename_at(store, arguments))?,)))?;
    #[cfg(target_os = "linux")]
    {
        read::add_to_linker(&mut types)?;
        stat::add_to_linker(&mut types)?;
        list::add_to_linker(&mut types)?;
        link::add_to_linker(&mut types)?;
    }
    Ok(())
}

fn open_at(mut store: StoreContextMut<'_, State>, arguments: OpenAt) -> FsResult<Fd> {
    let (dir, follow, path, how, flags) = arguments;
    store.data().control.progress.advance();
    if !is_asked_for(follow, &path, how) {
        return Err(ErrorCode::NotPermitted.into());
    }
    #[cfg(target_os = "linux")]
    let is_contained = store.data().is_contained;
    let mut view = store.data_mut().filesystem();
    #[cfg(target_os = "linux")]
    if open::applies(follow, &path, how, flags) {
        let opened = open::open(directory(view.table.get(&dir)?)?, &path, how, flags)?;
        if is_contained {
            match &opened {
                Descriptor::Dir(opened) => kernel::check(&*opened.dir),
                Descriptor::File(opened) => kernel::check(&*opened.file),
            }
            .map_err(code)?;
        }
        return Ok(view.table.push(opened)?);
    }
    at_once(view.open_at(dir, follow, path, how, flags))
}

/// Whether it is an open that the component makes: it walks from name to name, reads links itself, and makes what is new.
/// Any other could wait for ever, at a FIFO that the path leads to.
fn is_asked_for(follow: PathFlags, path: &str, how: OpenFlags) -> bool {
    let is_new = how == OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    let is_there = how == OpenFlags::empty() || how == OpenFlags::DIRECTORY;
    !follow.contains(PathFlags::SYMLINK_FOLLOW) && (path == "." || is_name(path)) && (is_new || is_there)
}

fn rename_at(mut store: StoreContextMut<'_, State>, arguments: RenameAt) -> FsResult<()> {
    let (dir, from, to_dir, to) = arguments;
    let mut view = store.data_mut().filesystem();
    #[cfg(target_os = "linux")]
    if mode::applies(&from, &to) {
        let (from_dir, into_dir) = (directory(view.table.get(&dir)?)?, directory(view.table.get(&to_dir)?)?);
        mode::carry(from_dir, &from, into_dir, &to)?;
    }
    at_once(view.rename_at(dir, from, to_dir, to))
}

/// What a function of `wasmtime-wasi` answers, which may block the thread and so never waits.
pub(crate) fn at_once<T>(future: impl Future<Output = FsResult<T>>) -> FsResult<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(ErrorCode::WouldBlock.into()),
    }
}

#[cfg(target_os = "linux")]
fn directory(descriptor: &Descriptor) -> Result<&Dir, ErrorCode> {
    match descriptor {
        Descriptor::Dir(dir) => Ok(dir),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory),
    }
}

/// Whether a path is one name, which cannot lead out of its directory.
pub(crate) fn is_name(path: &str) -> bool {
    #[cfg(all(test, target_os = "linux"))]
    if weakened::is_without(weakened::Check::Name) {
        return true;
    }
    !path.is_empty() && path != "." && path != ".." && !path.contains(['/', '\0'])
}

/// What keeps an open from following a link.
#[cfg(target_os = "linux")]
fn no_follow() -> OFlags {
    #[cfg(test)]
    if weakened::is_without(weakened::Check::Link) {
        return OFlags::empty();
    }
    OFlags::NOFOLLOW
}

/// Whether nothing below a directory may be changed.
#[cfg(target_os = "linux")]
fn is_read_only(dir: &Dir) -> bool {
    #[cfg(test)]
    if weakened::is_without(weakened::Check::Right) {
        return false;
    }
    dir.perms.write_not_permitted()
}

/// What the system says, as `wasmtime-wasi` tells it.
#[cfg(target_os = "linux")]
fn code(errno: rustix::io::Errno) -> ErrorCode {
    ErrorCode::from(std::io::Error::from(errno))
}

/// The answer as the linker takes it.
pub(crate) fn answer<T>(result: FsResult<T>) -> wasmtime::Result<Result<T, ErrorCode>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}
