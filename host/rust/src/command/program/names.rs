//! Operations of `wasmtime-wasi` in one directory, each on a single name without following links.

use std::ops::{Deref, DerefMut};

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtxView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, HostDescriptor,
    HostDirectoryEntryStream, OpenFlags, PathFlags,
};

use crate::directory::Identity;
#[cfg(not(target_os = "linux"))]
use crate::wasi::access_control;
use crate::wasi::access_control::AccessControl;
use crate::wasi::{Fd, at_once};

/// Access to the store's resources.
pub(super) struct View<'v> {
    pub(super) files: WasiFilesystemCtxView<'v>,
    /// Files that are closed to programs, by whatever path.
    pub(super) access_control: &'v mut AccessControl,
}

impl<'v> Deref for View<'v> {
    type Target = WasiFilesystemCtxView<'v>;

    fn deref(&self) -> &Self::Target {
        &self.files
    }
}

impl DerefMut for View<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.files
    }
}

/// Maximum depth of a walk.
const MAX_DEPTH: usize = 256;

/// Calls one of the functions on a directory.
pub(super) fn in_dir<T>(
    view: &mut View<'_>,
    dir: &Dir,
    act: impl FnOnce(&mut View<'_>, Fd) -> FsResult<T>,
) -> FsResult<T> {
    let fd = view.table.push(Descriptor::Dir(dir.clone()))?;
    let result = act(view, Resource::new_borrow(fd.rep()));
    view.table.delete(fd)?;
    result
}

pub(super) fn stat(view: &mut View<'_>, dir: &Dir, name: &str) -> FsResult<DescriptorStat> {
    in_dir(view, dir, |view, fd| at_once(view.stat_at(fd, PathFlags::empty(), name.to_owned())))
}

/// Returns the kind of an entry; `None` if it does not exist.
pub(super) fn kind(view: &mut View<'_>, dir: &Dir, name: &str) -> FsResult<Option<DescriptorType>> {
    match stat(view, dir, name) {
        Ok(stat) => Ok(Some(stat.type_)),
        Err(error) if error.downcast_ref() == Some(&ErrorCode::NoEntry) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens an entry, or creates it.
pub(super) fn open(
    view: &mut View<'_>,
    dir: &Dir,
    name: &str,
    (how, flags): (OpenFlags, DescriptorFlags),
) -> FsResult<Descriptor> {
    let (opened, identity) = open_any(view, dir, name, (how, flags))?;
    view.access_control.check_opened(&opened, identity)?;
    Ok(opened)
}

#[cfg(target_os = "linux")]
fn open_any(
    _view: &mut View<'_>,
    dir: &Dir,
    name: &str,
    (how, flags): (OpenFlags, DescriptorFlags),
) -> FsResult<(Descriptor, Identity)> {
    Ok(crate::wasi::open::open(dir, name, how, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn open_any(
    view: &mut View<'_>,
    dir: &Dir,
    name: &str,
    (how, flags): (OpenFlags, DescriptorFlags),
) -> FsResult<(Descriptor, Identity)> {
    let opened = in_dir(view, dir, |view, fd| {
        let opened = at_once(view.open_at(fd, PathFlags::empty(), name.to_owned(), how, flags))?;
        Ok(view.table.delete(opened)?)
    })?;
    let identity = Identity::of_file(access_control::file(&opened)).map_err(ErrorCode::from)?;
    Ok((opened, identity))
}

pub(super) fn open_dir(view: &mut View<'_>, dir: &Dir, name: &str) -> FsResult<Dir> {
    // On other systems, opening a FIFO waits for a writer.
    if !cfg!(target_os = "linux") && kind(view, dir, name)?.is_some_and(|kind| kind != DescriptorType::Directory) {
        return Err(ErrorCode::NotDirectory.into());
    }
    match open(view, dir, name, (OpenFlags::DIRECTORY, DescriptorFlags::READ))? {
        Descriptor::Dir(dir) => Ok(dir),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
    }
}

/// Reads the target of a link.
#[cfg(unix)]
pub(super) fn read_link(_view: &mut View<'_>, dir: &Dir, name: &str) -> FsResult<String> {
    // The function of `wasmtime-wasi` refuses absolute targets.
    let target = rustix::fs::readlinkat(&*dir.dir, name, Vec::new()).map_err(std::io::Error::from)?;
    Ok(target.into_string().map_err(|_| ErrorCode::IllegalByteSequence)?)
}

/// Reads the target of a link.
#[cfg(not(unix))]
pub(super) fn read_link(view: &mut View<'_>, dir: &Dir, name: &str) -> FsResult<String> {
    in_dir(view, dir, |view, fd| at_once(view.readlink_at(fd, name.to_owned())))
}

/// An entry below a directory.
pub(super) struct Below<'b> {
    /// Directory of the entry.
    pub(super) dir: &'b Dir,
    pub(super) name: &'b str,
    /// Path from the top of the walk, with a `/` before each name.
    pub(super) path: &'b str,
    pub(super) kind: DescriptorType,
}

/// Visits all entries below a directory, each directory before its entries. Fails if there are more entries than the
/// limits allow, or a name that is not UTF-8.
pub(super) fn walk(
    view: &mut View<'_>,
    dir: &Dir,
    path: &str,
    visit: &mut impl FnMut(&mut View<'_>, &Below<'_>) -> FsResult<()>,
) -> FsResult<()> {
    if path.matches('/').count() >= MAX_DEPTH {
        return Err(ErrorCode::NameTooLong.into());
    }
    for entry in entries(view, dir)? {
        let path = format!("{path}/{}", entry.name);
        visit(view, &Below { dir, name: &entry.name, path: &path, kind: entry.type_ })?;
        if entry.type_ == DescriptorType::Directory {
            let below = open_dir(view, dir, &entry.name)?;
            walk(view, &below, &path, visit)?;
        }
    }
    Ok(())
}

fn entries(view: &mut View<'_>, dir: &Dir) -> FsResult<Vec<DirectoryEntry>> {
    let stream = in_dir(view, dir, |view, fd| at_once(view.read_directory(fd)))?;
    let mut entries = Vec::new();
    let listed = loop {
        match at_once(view.read_directory_entry(Resource::new_borrow(stream.rep()))) {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => break Ok(entries),
            Err(error) => break Err(error),
        }
    };
    view.table.delete(stream)?;
    listed
}
