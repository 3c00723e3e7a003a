//! State of a program: its roots, its open files, and its rights.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, PathFlags};
use wasmtime_wasi::p2::{FsResult, ReaddirIterator};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::names::{self, View};
use super::resolved_path::{self, Lost, ResolvedEntry, ResolvedPath};
use super::rights::Rights;
use crate::limits::Limiter;
use crate::wasi::Fd;
use crate::wasi::access_control::AccessControl;

/// Maximum number of open files and directories of a program.
const MAX_OPEN: usize = 256;

/// Maximum number of all resources of a program. A stream can outlive its file.
const MAX_RESOURCES: usize = 1_000;

/// The store's data.
pub(super) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    access_control: AccessControl,
    pub(super) limiter: Limiter,
    /// Directories of the roots.
    roots: Vec<Dir>,
    /// Preopened directories and their names.
    preopens: Vec<(ResolvedPath, String)>,
    /// Resolved paths of open files and directories, by resource index.
    resolved_paths: HashMap<u32, ResolvedPath>,
    /// Directories of open listings, by resource index.
    pub(super) listings: HashMap<u32, ResolvedPath>,
    pub(super) rights: Rights,
    /// Maximum size of a file that the program writes, in bytes.
    pub(super) max_file_bytes: u64,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl State {
    /// Creates the state, with the directories of all roots in their order and the preopened directories.
    pub(super) fn new(
        wasi: WasiCtx,
        (roots, preopens): (Vec<Dir>, Vec<(ResolvedPath, String)>),
        (rights, access_control): (Rights, AccessControl),
        limiter: Limiter,
        max_file_bytes: u64,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        let (resolved_paths, listings) = (HashMap::new(), HashMap::new());
        Self { wasi, table, access_control, limiter, roots, preopens, resolved_paths, listings, rights, max_file_bytes }
    }

    /// Returns the access to resources and the rights.
    pub(super) fn parts(&mut self) -> (View<'_>, &mut Rights) {
        let Self { wasi, table, access_control, rights, .. } = self;
        let files = WasiFilesystemCtxView { ctx: wasi.filesystem(), table };
        (View { files, access_control }, rights)
    }

    pub(super) fn view(&mut self) -> View<'_> {
        self.parts().0
    }

    /// Resolves a path from an open directory. With `SYMLINK_FOLLOW`, a final link is followed too.
    pub(super) fn find(&mut self, fd: &Fd, path: &str, follow: PathFlags) -> FsResult<ResolvedEntry> {
        if matches!(self.table.get(fd)?, Descriptor::File(_)) {
            return Err(ErrorCode::NotDirectory.into());
        }
        let from = self.resolved(fd)?;
        self.find_from(&from, path, follow)
    }

    fn find_from(&mut self, from: &ResolvedPath, path: &str, follow: PathFlags) -> FsResult<ResolvedEntry> {
        let top = self.roots.get(from.root).cloned().ok_or(ErrorCode::BadDescriptor)?;
        let (mut view, rights) = self.parts();
        match resolved_path::find(&mut view, &top, from, path, follow.contains(PathFlags::SYMLINK_FOLLOW)) {
            Ok(entry) => Ok(entry),
            Err(Lost::Fs(error)) => Err(error),
            Err(Lost::Out(from)) => Err(rights.leads_out(&from)),
        }
    }

    /// Opens the preopened directories.
    pub(super) fn preopens(&mut self) -> FsResult<Vec<(Fd, String)>> {
        let mut opened = Vec::new();
        for (resolved, name) in self.preopens.clone() {
            let entry = self.find_from(&resolved, ".", PathFlags::SYMLINK_FOLLOW)?;
            let mut dir = names::open_dir(&mut self.view(), &entry.dir, &entry.name)?;
            // Some programs check whether they may change entries of the directory.
            dir.open_mode = self.roots.get(resolved.root).map_or(dir.open_mode, |top| top.open_mode);
            opened.push((self.opened(entry.resolved, Descriptor::Dir(dir))?, name));
        }
        Ok(opened)
    }

    /// Adds an open file or directory to the program's resources.
    pub(super) fn opened(&mut self, resolved: ResolvedPath, descriptor: Descriptor) -> FsResult<Fd> {
        if self.resolved_paths.len() >= MAX_OPEN {
            return Err(ErrorCode::InsufficientMemory.into());
        }
        let fd = self.table.push(descriptor)?;
        self.resolved_paths.insert(fd.rep(), resolved);
        Ok(fd)
    }

    /// Closes an open file or directory.
    pub(super) fn close(&mut self, fd: u32) -> wasmtime::Result<()> {
        self.resolved_paths.remove(&fd);
        self.table.delete(Fd::new_own(fd))?;
        Ok(())
    }

    /// Returns an open file.
    pub(super) fn open_file(&self, fd: &Fd) -> FsResult<Arc<File>> {
        match self.table.get(fd)? {
            Descriptor::File(file) => Ok(Arc::clone(&file.file)),
            Descriptor::Dir(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    /// Closes a listing.
    pub(super) fn close_listing(&mut self, entries: u32) -> wasmtime::Result<()> {
        self.listings.remove(&entries);
        self.table.delete(Resource::<ReaddirIterator>::new_own(entries))?;
        Ok(())
    }

    /// Returns the path that an open file or directory had when it was opened.
    pub(super) fn resolved(&self, fd: &Fd) -> FsResult<ResolvedPath> {
        Ok(self.resolved_paths.get(&fd.rep()).cloned().ok_or(ErrorCode::BadDescriptor)?)
    }
}
