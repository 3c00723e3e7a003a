//! Changes of links and directories, made after the changes of files: creation of links, and removal of links and
//! empty directories.

use paddock_types::entry::Kind;
use paddock_types::error::Result;
use paddock_types::response::{Change, ChangeKind};
use paddock_vfs::{Fault, FsResult};

use crate::Workspace;
use crate::change::backup::{Action, Entry};
use crate::change::directories::make_missing;
use crate::resolved_path::ResolvedPath;

/// Creates a link with the target `target`, and its missing parent directories. Checks rights and rules.
pub fn link(workspace: &Workspace<'_>, operation: &str, resolved: &ResolvedPath, target: &str) -> Result<()> {
    workspace.check_change(resolved, operation)?;
    workspace.check_new_tree(resolved, operation)?;
    let fs = workspace.fs;
    let result = make_missing(fs, resolved, &mut Vec::new())
        .and_then(|dir| fs.symlink(&dir, &resolved.name, target).and_then(|()| fs.sync_dir(&dir)));
    result.map_err(|fault: Fault| fault.at(operation, &resolved.requested_path))?;
    workspace.changed(Change { kind: ChangeKind::Created, path: resolved.path.clone(), to: None, size: None });
    Ok(())
}

/// Removes a link or an empty directory. The caller checks rights and rules.
pub fn remove(workspace: &Workspace<'_>, resolved: &ResolvedPath) -> FsResult<()> {
    match kind(resolved) {
        Kind::Directory => workspace.fs.remove_dir(&resolved.dir, &resolved.name),
        _ => workspace.fs.unlink(&resolved.dir, &resolved.name),
    }?;
    workspace.fs.sync_dir(&resolved.dir)?;
    workspace.changed(Change { kind: ChangeKind::Deleted, path: resolved.path.clone(), to: None, size: None });
    Ok(())
}

/// Returns the backup entry of a link or directory that the caller is about to remove.
pub fn gone(workspace: &Workspace<'_>, resolved: &ResolvedPath) -> Entry {
    let kind = kind(resolved);
    let target = workspace.fs.read_link(&resolved.dir, &resolved.name).ok().filter(|_| kind == Kind::Link);
    let mode = workspace.fs.mode(&resolved.dir, &resolved.name).filter(|_| kind == Kind::Directory);
    Entry { target, mode, ..Entry::of(Action::Deleted, &resolved.path, kind) }
}

fn kind(resolved: &ResolvedPath) -> Kind {
    resolved.stat.map_or(Kind::Directory, |stat| stat.kind)
}
