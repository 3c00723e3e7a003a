//! Creates a directory.

use paddock_types::entry::Kind;
use paddock_types::error::{Error, Result, Term};
use paddock_types::response::Response;
use paddock_types::{phrase, request, response};
use paddock_vfs::Fault;
use paddock_workspace::Workspace;
use paddock_workspace::change::commit::{Changes, commit_all};

use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::recorder::Recorder;

const OPERATION: &str = "make";

impl Operation for request::MakeDir {
    fn name(&self) -> &'static str {
        "make-directory"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::MakeDir)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::MakeDir(make_dir) = response else { return };
        recorder.add(&make_dir.path);
    }
}

impl ChangingOperation for request::MakeDir {
    fn can_delete(&self) -> bool {
        false
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        draft.add_target("make the directory", &self.path)?;
        let missing = draft.workspace.resolve(&self.path, OPERATION)?.missing.len();
        if missing > 0 {
            draft.say(&format!("and {missing} directories above it\n"));
        }
        Ok(false)
    }
}

/// Creates a directory.
pub fn run(workspace: &Workspace<'_>, args: &request::MakeDir) -> Result<response::MakeDir> {
    let resolved = workspace.resolve(&args.path, OPERATION)?;
    match resolved.stat {
        Some(stat) if stat.kind == Kind::Directory && args.parents => {
            return Ok(response::MakeDir { path: resolved.path, created: false, backup: None });
        }
        Some(_) => return Err(Fault::Exists.at(OPERATION, &args.path)),
        None => workspace.check_change(&resolved, OPERATION)?,
    }
    if !args.parents && !resolved.missing.is_empty() {
        return Err(Error { path: Some(args.path.clone()), ..Fault::NotFound.at(OPERATION, &args.path) }
            .hint(phrase!["its parent does not exist; ", Term::Parents, " makes it too"])
            .or_hint("its parent does not exist: make it first"));
    }
    let path = resolved.path.clone();
    commit_all(workspace, OPERATION, Changes { directories: vec![resolved], ..Changes::default() })?;
    Ok(response::MakeDir { path, created: true, backup: workspace.backup() })
}
