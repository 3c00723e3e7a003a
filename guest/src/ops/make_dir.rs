//! Makes a directory.

use crate::error::{Error, Result};
use crate::fs::commit::{directories_to_make, make_missing};
use crate::fs::history::{Action, Draft, Entry};
use crate::fs::place::Place;
use crate::fs::{Fault, Kind};
use crate::request;
use crate::response::{self, Change, ChangeKind};
use crate::workspace::Workspace;

const VERB: &str = "make";

/// Makes a directory.
pub fn run(workspace: &Workspace<'_>, args: &request::MakeDir) -> Result<response::MakeDir> {
    let place = workspace.resolve(&args.path, VERB)?;
    let blame = |fault: Fault| fault.at(VERB, &args.path);
    match place.stat {
        Some(stat) if stat.kind == Kind::Directory && args.parents => {
            return Ok(response::MakeDir { path: place.path, created: false, backup: None });
        }
        Some(_) => return Err(blame(Fault::Exists)),
        None => workspace.check_change(&place, VERB)?,
    }
    if !args.parents && !place.missing.is_empty() {
        return Err(Error { path: Some(args.path.clone()), ..blame(Fault::NotFound) }
            .hint("its parent does not exist; `parents` makes it too"));
    }
    keep(workspace, &place)?;
    let dir = make_missing(workspace.fs, &place, &mut Vec::new()).map_err(blame)?;
    match workspace.fs.make_dir(&dir, &place.name) {
        // Someone else made it meanwhile, which is as good.
        Err(Fault::Exists) if args.parents => {
            return Ok(response::MakeDir { path: place.path, created: false, backup: None });
        }
        other => other.and_then(|()| workspace.fs.sync_dir(&dir)).map_err(blame)?,
    }
    workspace.changed(Change { kind: ChangeKind::Created, path: place.path.clone(), to: None, size: None });
    Ok(response::MakeDir { path: place.path, created: true, backup: workspace.backup() })
}

fn keep(workspace: &Workspace<'_>, place: &Place) -> Result<()> {
    let Some(mut draft) = Draft::begin(workspace, VERB)? else { return Ok(()) };
    draft.add_made(&directories_to_make(workspace, place))?;
    draft.add(Entry::of(Action::Created, &place.path, Kind::Directory), None)?;
    draft.finish()
}
