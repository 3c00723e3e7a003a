//! The undo as an operation: execution, the plan for approval, and the record for the audit log.

use paddock_types::error::Result;
use paddock_types::request;
use paddock_types::response::Response;
use paddock_workspace::Workspace;

use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::recorder::Recorder;
use crate::restore::chosen::choose;
use crate::restore::{effects, run};

impl Operation for request::Restore {
    fn name(&self) -> &'static str {
        "restore"
    }

    fn requested_paths(&self) -> Vec<String> {
        self.path.iter().cloned().collect()
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Restore)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Restore(restore) = response else { return };
        restore.restored.iter().for_each(|path| recorder.add(path));
        recorder.measure(recorder.written_bytes(), None);
    }
}

impl ChangingOperation for request::Restore {
    fn can_delete(&self) -> bool {
        true
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        let chosen = choose(draft.workspace, self)?;
        chosen.check_visible(draft.workspace)?;
        for call in &chosen.calls {
            draft.say(&format!("undo the {} of the backup {}\n", call.operation, call.id));
        }
        effects::add(draft, &chosen.entries()).map(|()| true)
    }
}
