//! Creates a directory.

use paddock_types::entry::Kind;
use paddock_types::error::{Error, Result, Term};
use paddock_types::{phrase, request, response};
use paddock_vfs::Fault;
use paddock_workspace::Workspace;
use paddock_workspace::change::commit::{Changes, commit_all};

const VERB: &str = "make";

/// Creates a directory.
pub fn run(workspace: &Workspace<'_>, args: &request::MakeDir) -> Result<response::MakeDir> {
    let resolved = workspace.resolve(&args.path, VERB)?;
    match resolved.stat {
        Some(stat) if stat.kind == Kind::Directory && args.parents => {
            return Ok(response::MakeDir { path: resolved.path, created: false, backup: None });
        }
        Some(_) => return Err(Fault::Exists.at(VERB, &args.path)),
        None => workspace.check_change(&resolved, VERB)?,
    }
    if !args.parents && !resolved.missing.is_empty() {
        return Err(Error { path: Some(args.path.clone()), ..Fault::NotFound.at(VERB, &args.path) }
            .hint(phrase!["its parent does not exist; ", Term::Parents, " makes it too"])
            .or_hint("its parent does not exist: make it first"));
    }
    let path = resolved.path.clone();
    commit_all(workspace, VERB, Changes { directories: vec![resolved], ..Changes::default() })?;
    Ok(response::MakeDir { path, created: true, backup: workspace.backup() })
}
