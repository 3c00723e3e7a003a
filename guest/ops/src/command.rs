//! Commands. The component never runs them; the host does, if it can.

pub mod access;
pub mod record;

use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::policy::Policy;
use paddock_types::request::{Command, Script};
use paddock_types::response::Response;
use paddock_workspace::Workspace;

use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::recorder::Recorder;

impl Operation for Command {
    fn name(&self) -> &'static str {
        "run"
    }

    fn requested_paths(&self) -> Vec<String> {
        self.workdir().cloned().into_iter().collect()
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        Err(not_here(workspace.policy))
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        if let Response::Ran(_) = response {
            recorder.add_changed();
            recorder.measure(recorder.written_bytes(), None);
        }
    }
}

impl ChangingOperation for Command {
    fn can_delete(&self) -> bool {
        true
    }

    /// Adds the text of the command. Its effects cannot be predicted.
    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        let (what, text) = match self {
            Self::Run(run) => match &run.script {
                Script::Shell(line) => ("run a command", line.clone()),
                Script::Python(code) => ("run a Python program", code.clone()),
                Script::Program(name, args) => ("run a WASI program", format!("{name} {args:?}")),
            },
            Self::Start(start) => ("start a command", start.command.clone()),
            Self::Write(input) => ("write to a command that runs", format!("{:?}", input.chars)),
            Self::Sessions | Self::Kill(_) => return Ok(true),
        };
        let workdir = self.workdir().map(|path| format!(" in `{}`", printable(path))).unwrap_or_default();
        draft.say(&format!("{what}{workdir}\n{text}\n"));
        if let Self::Run(run) = self
            && !run.stdin.is_empty()
        {
            draft.say(&format!("with this standard input:\n{}\n", run.stdin));
        }
        self.workdir().into_iter().for_each(|path| draft.name(path));
        Ok(true)
    }
}

/// Returns the error of a call that would run a command on a host that cannot run any.
pub fn not_here(policy: &Policy) -> Error {
    match policy.commands.enabled {
        false => not_enabled(),
        true => Error::new(Code::Denied, "this host runs no commands").hint("use the file tools"),
    }
}

/// Returns the error of a command call if the policy does not enable commands.
pub fn not_enabled() -> Error {
    Error::new(Code::Denied, "commands are not enabled")
        .hint("use the file tools, or ask the person who runs this to enable commands")
}
