//! Files that have several names, some of which may be outside of the roots.

use std::fs::File;

use cap_std::fs::{Dir, OpenOptions};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, DescriptorType, ErrorCode, OpenFlags};

use super::changes::copy;
use super::names::{self, View};
use super::resolved_path::{Found, ResolvedPath};
use super::rights::Rights;
use crate::hex::hex;
use crate::policy::HardLinks;

impl Rights {
    /// Has the change that is about to be made to what was found change no file under another name: a copy takes its
    /// place, or the change is refused, as the policy has it. `keeps_content` is false where it is to be emptied.
    pub(super) fn unshare(&mut self, view: &mut View<'_>, found: &Found, keeps_content: bool) -> FsResult<()> {
        if found.kind != Some(DescriptorType::RegularFile) || self.hard_links == HardLinks::Keep {
            return Ok(());
        }
        let links = names::stat(view, &found.dir, &found.name)?.link_count;
        if links < 2 {
            return Ok(());
        }
        if self.hard_links == HardLinks::Refuse {
            return self.check_sole(&found.resolved, links);
        }
        self.replace(view, found, keeps_content)?;
        let path = self.on_host(&found.resolved);
        self.changes.broken.push(path);
        Ok(())
    }

    /// Refuses a change of a file that has other names. Also of one that is open: by that no copy can take its place.
    pub(super) fn check_sole(&mut self, resolved: &ResolvedPath, links: u64) -> FsResult<()> {
        if links < 2 || self.hard_links == HardLinks::Keep {
            return Ok(());
        }
        let path = self.on_host(resolved);
        self.changes.refuse(path, format!("it has {links} hard links, and the others may be outside the workspace"));
        Err(ErrorCode::Access.into())
    }

    /// Puts a copy of a file in its place.
    fn replace(&self, view: &mut View<'_>, found: &Found, keeps_content: bool) -> FsResult<()> {
        let dir = Dir::from_std_file(found.dir.dir.try_clone().map_err(ErrorCode::from)?);
        let (reading, nothing) = (DescriptorFlags::READ, OpenFlags::empty());
        let Descriptor::File(from) = names::open(view, &found.dir, &found.name, (nothing, reading))? else {
            return Err(ErrorCode::Access.into());
        };
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).map_err(|_| ErrorCode::Io)?;
        let temporary = format!(".paddock-{}.tmp", hex(&nonce));
        let replaced = || -> std::io::Result<()> {
            let mut to = dir.open_with(&temporary, OpenOptions::new().write(true).create_new(true))?.into_std();
            if keeps_content {
                copy(&from.file, &mut to, self.max_file_bytes)?;
            }
            copy_mode(&from.file, &to)?;
            dir.rename(&temporary, &dir, &found.name)
        };
        replaced().map_err(|cause| {
            // What is not there need not be removed.
            let _absent = dir.remove_file(&temporary);
            ErrorCode::from(cause).into()
        })
    }
}

/// Gives a copy the permission bits of a file, without those by which it would run as its owner.
#[cfg(unix)]
fn copy_mode(from: &File, to: &File) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    to.set_permissions(std::fs::Permissions::from_mode(from.metadata()?.mode() & 0o1777))
}

/// There are none elsewhere that a file does not have from its directory.
#[cfg(not(unix))]
fn copy_mode(_from: &File, _to: &File) -> std::io::Result<()> {
    Ok(())
}
