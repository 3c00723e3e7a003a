//! Directories that a change creates for its files.

use std::collections::HashSet;

use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::{Dir, Fault, Filesystem, FsResult};

use crate::Workspace;
use crate::change::file_change::FileChange;
use crate::change::stored_location::StoredLocation;
use crate::resolved_path::ResolvedPath;

/// Returns all missing directories that the changes need, each once, outer directories first.
pub(super) fn all_directories(
    workspace: &Workspace<'_>,
    changes: &[FileChange],
    directories: &[ResolvedPath],
) -> Vec<StoredLocation> {
    let files = changes.iter().flat_map(|change| [Some(&change.resolved), change.to.as_ref()]).flatten();
    let (mut known, mut stored_locations) = (HashSet::new(), Vec::new());
    for (resolved, is_file) in
        directories.iter().map(|resolved| (resolved, false)).chain(files.map(|resolved| (resolved, true)))
    {
        let stored_location = StoredLocation::of(workspace, resolved);
        let mut next = if is_file { stored_location.parent() } else { Some(stored_location) };
        let start = stored_locations.len();
        // If a directory is known, its parents are known too.
        while let Some(stored_location) = next.filter(|stored_location| {
            stored_location.above.len() >= resolved.ancestors.len() && known.insert(stored_location.path())
        }) {
            next = stored_location.parent();
            stored_locations.push(stored_location);
        }
        if let Some(new) = stored_locations.get_mut(start..) {
            new.reverse();
        }
    }
    stored_locations
}

/// Returns the missing directories above `resolved`, outer directories first.
pub fn directories_to_make(workspace: &Workspace<'_>, resolved: &ResolvedPath) -> Vec<StoredLocation> {
    let stored_location = StoredLocation::of(workspace, resolved);
    let there = resolved.ancestors.len();
    (there..stored_location.above.len())
        .filter_map(|depth| {
            let (above, rest) = stored_location.above.split_at_checked(depth)?;
            Some(StoredLocation {
                root: stored_location.root.clone(),
                above: above.to_vec(),
                name: rest.first()?.clone(),
            })
        })
        .collect()
}

/// Creates the missing directories above `resolved`, adds them to `created_dirs`, and opens the innermost.
pub fn make_missing(
    fs: &dyn Filesystem,
    resolved: &ResolvedPath,
    created_dirs: &mut Vec<OpenLocation>,
) -> FsResult<Dir> {
    resolved.missing.iter().try_fold(resolved.dir.clone(), |dir, name| make(fs, &dir, name, created_dirs))
}

/// Creates a directory if it does not exist, adds a new one to `created_dirs`, and opens it.
pub(super) fn make(fs: &dyn Filesystem, dir: &Dir, name: &str, created_dirs: &mut Vec<OpenLocation>) -> FsResult<Dir> {
    match fs.make_dir(dir, name) {
        Ok(()) => {
            created_dirs.push(OpenLocation { dir: dir.clone(), name: name.to_owned() });
            fs.sync_dir(dir)?;
        }
        Err(Fault::Exists) => {}
        Err(fault) => return Err(fault),
    }
    fs.open_dir(dir, name)
}
