//! Changes of files with several hard links, some of which may be outside the roots.

use std::fs::File;

use cap_std::fs::{Dir, OpenOptions};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, DescriptorType, ErrorCode, OpenFlags};

use super::changes::copy;
use super::names::{self, View};
use super::resolved_path::{ResolvedEntry, ResolvedPath};
use super::rights::Rights;
use crate::hex::hex;
use crate::policy::HardLinks;

impl Rights {
    /// Prevents a change from reaching a file through another hard link: depending on the policy, replaces the file by
    /// a copy or refuses the change. `keeps_content` is false if the file is about to be truncated.
    pub(super) fn unshare(&mut self, view: &mut View<'_>, entry: &ResolvedEntry, keeps_content: bool) -> FsResult<()> {
        if entry.kind != Some(DescriptorType::RegularFile) || self.hard_links == HardLinks::Keep {
            return Ok(());
        }
        let links = names::stat(view, &entry.dir, &entry.name)?.link_count;
        if links < 2 {
            return Ok(());
        }
        if self.hard_links == HardLinks::Refuse {
            return self.check_sole(&entry.resolved, links);
        }
        self.replace(view, entry, keeps_content)?;
        let path = self.on_host(&entry.resolved);
        self.changes.broken.push(path);
        Ok(())
    }

    /// Refuses a change of a file that has other hard links. This includes an open file, which a copy cannot replace.
    pub(super) fn check_sole(&mut self, resolved: &ResolvedPath, links: u64) -> FsResult<()> {
        if links < 2 || self.hard_links == HardLinks::Keep {
            return Ok(());
        }
        let path = self.on_host(resolved);
        self.changes.refuse(path, format!("it has {links} hard links, and the others may be outside the workspace"));
        Err(ErrorCode::Access.into())
    }

    /// Replaces a file by a copy.
    fn replace(&self, view: &mut View<'_>, entry: &ResolvedEntry, keeps_content: bool) -> FsResult<()> {
        let dir = Dir::from_std_file(entry.dir.dir.try_clone().map_err(ErrorCode::from)?);
        let (reading, nothing) = (DescriptorFlags::READ, OpenFlags::empty());
        let Descriptor::File(from) = names::open(view, &entry.dir, &entry.name, (nothing, reading))? else {
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
            // Windows neither renames nor replaces a file that is open.
            drop((from, to));
            dir.rename(&temporary, &dir, &entry.name)
        };
        replaced().map_err(|cause| {
            // The temporary file may not exist.
            let _absent = dir.remove_file(&temporary);
            ErrorCode::from(cause).into()
        })
    }
}

/// Sets the permission bits of a file on its copy, except set-user-id and set-group-id.
#[cfg(unix)]
fn copy_mode(from: &File, to: &File) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    to.set_permissions(std::fs::Permissions::from_mode(from.metadata()?.mode() & 0o1777))
}

/// On other systems, a file inherits its permissions from its directory.
#[cfg(not(unix))]
fn copy_mode(_from: &File, _to: &File) -> std::io::Result<()> {
    Ok(())
}
