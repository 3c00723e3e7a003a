//! What a change does beside files, right after them: links that come, and
//! links and empty directories that go.

use paddock_types::entry::Kind;
use paddock_types::error::Result;
use paddock_types::response::{Change, ChangeKind};
use paddock_vfs::{Fault, FsResult};

use crate::Workspace;
use crate::change::backup::{Action, Entry};
use crate::change::commit::make_missing;
use crate::resolved_path::Place;

/// Makes a link that says `target`, with the directories that it needs. Checks rights and rules itself.
pub fn link(workspace: &Workspace<'_>, verb: &str, place: &Place, target: &str) -> Result<()> {
    workspace.check_change(place, verb)?;
    workspace.check_new_tree(place, verb)?;
    let fs = workspace.fs;
    let made = make_missing(fs, place, &mut Vec::new())
        .and_then(|dir| fs.symlink(&dir, &place.name, target).and_then(|()| fs.sync_dir(&dir)));
    made.map_err(|fault: Fault| fault.at(verb, &place.given))?;
    workspace.changed(Change { kind: ChangeKind::Created, path: place.path.clone(), to: None, size: None });
    Ok(())
}

/// Removes a link or an empty directory. Rights and rules are the caller's to check.
pub fn remove(workspace: &Workspace<'_>, place: &Place) -> FsResult<()> {
    match kind(place) {
        Kind::Directory => workspace.fs.remove_dir(&place.dir, &place.name),
        _ => workspace.fs.unlink(&place.dir, &place.name),
    }?;
    workspace.fs.sync_dir(&place.dir)?;
    workspace.changed(Change { kind: ChangeKind::Deleted, path: place.path.clone(), to: None, size: None });
    Ok(())
}

/// For the backup: what is about to be removed.
pub fn gone(workspace: &Workspace<'_>, place: &Place) -> Entry {
    let kind = kind(place);
    let target = workspace.fs.read_link(&place.dir, &place.name).ok().filter(|_| kind == Kind::Link);
    let mode = workspace.fs.mode(&place.dir, &place.name).filter(|_| kind == Kind::Directory);
    Entry { target, mode, ..Entry::of(Action::Deleted, &place.path, kind) }
}

fn kind(place: &Place) -> Kind {
    place.stat.map_or(Kind::Directory, |stat| stat.kind)
}
