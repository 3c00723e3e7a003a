//! Patches as an operation: execution, the plan for approval, and the record for the audit log.

use paddock_types::accessed_paths::{WriteMode, Written};
use paddock_types::error::Result;
use paddock_types::request::Matching;
use paddock_types::response::{PatchAction, Response};
use paddock_types::{request, response};
use paddock_workspace::Workspace;

use crate::apply_patch::{Plan, run};
use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::recorder::Recorder;

impl Operation for request::ApplyPatch {
    fn name(&self) -> &'static str {
        "patch"
    }

    fn requested_paths(&self) -> Vec<String> {
        named(&self.patch, self.matching)
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::ApplyPatch)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::ApplyPatch(patch) = response else { return };
        patch
            .files
            .iter()
            .flat_map(|file| file.moved_from.iter().chain([&file.path]))
            .for_each(|path| recorder.add(path));
        let lines = |file: &response::PatchedFile| file.lines_added + file.lines_removed;
        if !self.dry_run {
            // A moved file counts as written only if the patch changes its content too.
            let moved = patch.files.iter().filter(|file| file.action == PatchAction::Move && lines(file) > 0);
            recorder.record.written.extend(moved.map(|file| Written {
                path: file.path.clone(),
                bytes: file.size,
                mode: WriteMode::Create,
            }));
        }
        recorder.measure(recorder.written_bytes(), Some(patch.files.iter().map(lines).sum()));
    }
}

impl ChangingOperation for request::ApplyPatch {
    fn can_delete(&self) -> bool {
        true
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        let plan = Plan::make(draft.workspace, self)?;
        let files = plan.results();
        for file in &files {
            let operation = match file.action {
                PatchAction::Add => "add",
                PatchAction::Update if plan.replaced.contains(&file.path) => "replace",
                PatchAction::Update => "change",
                PatchAction::Move => "move here",
                PatchAction::Delete => "delete",
            };
            file.moved_from.iter().try_for_each(|from| draft.add("move", from))?;
            draft.add(operation, &file.path)?;
        }
        for (path, old, new) in plan.contents() {
            draft.change(path, old.as_ref(), &new)?;
        }
        Ok(!plan.replaced.is_empty() || files.iter().any(|file| file.action == PatchAction::Delete))
    }
}

/// Returns the paths that a patch names, or none if the patch does not parse.
fn named(text: &str, matching: Matching) -> Vec<String> {
    let parts = paddock_patch::parse(text, matching).unwrap_or_default();
    let names = parts.into_iter().flat_map(|part| {
        let to = match part.action {
            paddock_patch::Action::Move { to, .. } => Some(to),
            paddock_patch::Action::Add(_) | paddock_patch::Action::Delete(_) | paddock_patch::Action::Update(_) => None,
        };
        [Some(part.path), to]
    });
    names.flatten().collect()
}
