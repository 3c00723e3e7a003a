//! Decides which files a guest may open, move and create, by the identity of a file rather than by its path.

use std::fs::File;
use std::sync::Arc;

use cap_primitives::fs::{FollowSymlinks, stat};
use wasmtime_wasi::filesystem::{Descriptor, Dir};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::directory::Identity;
use crate::guarded::Guarded;

/// The access checks of one guest.
#[derive(Debug)]
pub(crate) struct AccessControl {
    guarded: Arc<Guarded>,
    /// Devices that have been checked and contain no file system of the kernel.
    #[cfg(target_os = "linux")]
    devices: Vec<u64>,
}

impl AccessControl {
    pub(crate) fn new(guarded: &Arc<Guarded>) -> Self {
        Self {
            guarded: Arc::clone(guarded),
            #[cfg(target_os = "linux")]
            devices: Vec::new(),
        }
    }

    /// Fails if the opened file is Paddock's own, or belongs to a file system of the kernel.
    pub(crate) fn check_opened(&mut self, opened: &Descriptor, identity: Identity) -> Result<(), ErrorCode> {
        #[cfg(test)]
        if crate::fault_injection::is_without(crate::fault_injection::Check::Identity) {
            return Ok(());
        }
        if self.guarded.is_closed(identity) {
            return Err(ErrorCode::NotPermitted);
        }
        #[cfg(target_os = "linux")]
        if !self.devices.contains(&identity.device()) {
            crate::kernel_files::check(file(opened)).map_err(super::code)?;
            self.devices.push(identity.device());
        }
        #[cfg(not(target_os = "linux"))]
        let _ = opened;
        Ok(())
    }

    /// Fails if the entry must not be moved, removed or replaced, or if [`Self::check_new`] fails.
    pub(crate) fn check_movable(&self, dir: &Dir, name: &str) -> Result<(), ErrorCode> {
        #[cfg(test)]
        if crate::fault_injection::is_without(crate::fault_injection::Check::Pin) {
            return Ok(());
        }
        match stat(&dir.dir, name.as_ref(), FollowSymlinks::No) {
            Ok(there) if self.guarded.is_fixed(Identity::of(&there)) => Err(ErrorCode::NotPermitted),
            _ => self.check_new(dir, name),
        }
    }

    /// Fails if the name is reserved for Paddock's own files, or is a directory on the path to such a name.
    pub(crate) fn check_new(&self, dir: &Dir, name: &str) -> Result<(), ErrorCode> {
        refuse_if(self.guarded.is_on_the_way(name, || Identity::of_file(&dir.dir).ok()))
    }

    /// Fails if the name is reserved for Paddock's own files. Directories on the path to such a name may be created
    /// and opened.
    pub(crate) fn check_name(&self, dir: &Dir, name: &str) -> Result<(), ErrorCode> {
        refuse_if(self.guarded.is_own_name(name, || Identity::of_file(&dir.dir).ok()))
    }
}

fn refuse_if(is_refused: bool) -> Result<(), ErrorCode> {
    if is_refused { Err(ErrorCode::NotPermitted) } else { Ok(()) }
}

/// Returns the open file of a descriptor.
pub(crate) fn file(descriptor: &Descriptor) -> &File {
    match descriptor {
        Descriptor::Dir(dir) => &dir.dir,
        Descriptor::File(file) => &file.file,
    }
}
