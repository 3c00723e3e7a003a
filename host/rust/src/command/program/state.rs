//! What a program has: its roots, its open files, and the rules that hold for both.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, PathFlags};
use wasmtime_wasi::p2::{FsResult, ReaddirIterator};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::names::{self, View};
use super::resolved_path::{self, Found, Lost, ResolvedPath};
use super::rights::Rights;
use crate::limits::Limiter;
use crate::wasi::Fd;
use crate::wasi::access_control::AccessControl;

/// Files and directories that a program may have open at once.
const MAX_OPEN: usize = 256;

/// Those, streams and whatever else it may hold at once: a stream can outlast the file that it is of.
const MAX_RESOURCES: usize = 1_000;

/// The store's data.
pub(super) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    access_control: AccessControl,
    pub(super) limiter: Limiter,
    /// The directories of the roots.
    roots: Vec<Dir>,
    /// What it finds open, and by which names.
    preopens: Vec<(ResolvedPath, String)>,
    /// Where open files and directories are, by their numbers.
    places: HashMap<u32, ResolvedPath>,
    /// The directories of open listings.
    pub(super) listings: HashMap<u32, ResolvedPath>,
    pub(super) rights: Rights,
    /// Bytes of each file that it writes.
    pub(super) max_file_bytes: u64,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl State {
    /// One with the directories of all roots, in their order, and what the program finds open.
    pub(super) fn new(
        wasi: WasiCtx,
        (roots, preopens): (Vec<Dir>, Vec<(ResolvedPath, String)>),
        (rights, access_control): (Rights, AccessControl),
        limiter: Limiter,
        max_file_bytes: u64,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        let (places, listings) = (HashMap::new(), HashMap::new());
        Self { wasi, table, access_control, limiter, roots, preopens, places, listings, rights, max_file_bytes }
    }

    /// What files are handled with, and what rules say of them.
    pub(super) fn parts(&mut self) -> (View<'_>, &mut Rights) {
        let Self { wasi, table, access_control, rights, .. } = self;
        let files = WasiFilesystemCtxView { ctx: wasi.filesystem(), table };
        (View { files, access_control }, rights)
    }

    pub(super) fn view(&mut self) -> View<'_> {
        self.parts().0
    }

    /// What a path leads to, from an open directory. With `SYMLINK_FOLLOW`, what it leads to is no link.
    pub(super) fn find(&mut self, fd: &Fd, path: &str, follow: PathFlags) -> FsResult<Found> {
        if matches!(self.table.get(fd)?, Descriptor::File(_)) {
            return Err(ErrorCode::NotDirectory.into());
        }
        let from = self.resolved(fd)?;
        self.find_from(&from, path, follow)
    }

    fn find_from(&mut self, from: &ResolvedPath, path: &str, follow: PathFlags) -> FsResult<Found> {
        let top = self.roots.get(from.root).cloned().ok_or(ErrorCode::BadDescriptor)?;
        let (mut view, rights) = self.parts();
        match resolved_path::find(&mut view, &top, from, path, follow.contains(PathFlags::SYMLINK_FOLLOW)) {
            Ok(found) => Ok(found),
            Err(Lost::Fs(error)) => Err(error),
            Err(Lost::Out(from)) => Err(rights.leads_out(&from)),
        }
    }

    /// Opens what the program finds open.
    pub(super) fn preopens(&mut self) -> FsResult<Vec<(Fd, String)>> {
        let mut opened = Vec::new();
        for (resolved, name) in self.preopens.clone() {
            let found = self.find_from(&resolved, ".", PathFlags::SYMLINK_FOLLOW)?;
            let mut dir = names::open_dir(&mut self.view(), &found.dir, &found.name)?;
            // Some programs look whether they may change what is in it.
            dir.open_mode = self.roots.get(resolved.root).map_or(dir.open_mode, |top| top.open_mode);
            opened.push((self.opened(found.resolved, Descriptor::Dir(dir))?, name));
        }
        Ok(opened)
    }

    /// Hands an open file or directory to the program.
    pub(super) fn opened(&mut self, resolved: ResolvedPath, descriptor: Descriptor) -> FsResult<Fd> {
        if self.places.len() >= MAX_OPEN {
            return Err(ErrorCode::InsufficientMemory.into());
        }
        let fd = self.table.push(descriptor)?;
        self.places.insert(fd.rep(), resolved);
        Ok(fd)
    }

    /// Takes it back.
    pub(super) fn close(&mut self, fd: u32) -> wasmtime::Result<()> {
        self.places.remove(&fd);
        self.table.delete(Fd::new_own(fd))?;
        Ok(())
    }

    /// An open file itself.
    pub(super) fn open_file(&self, fd: &Fd) -> FsResult<Arc<File>> {
        match self.table.get(fd)? {
            Descriptor::File(file) => Ok(Arc::clone(&file.file)),
            Descriptor::Dir(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    /// Takes a listing back.
    pub(super) fn close_listing(&mut self, entries: u32) -> wasmtime::Result<()> {
        self.listings.remove(&entries);
        self.table.delete(Resource::<ReaddirIterator>::new_own(entries))?;
        Ok(())
    }

    /// Where an open file or directory was when it was opened.
    pub(super) fn resolved(&self, fd: &Fd) -> FsResult<ResolvedPath> {
        Ok(self.places.get(&fd.rep()).cloned().ok_or(ErrorCode::BadDescriptor)?)
    }
}
