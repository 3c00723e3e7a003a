//! Commands, which the host runs. This module prepares the command of a call and renders its result.

use paddock_dialects::call::Call;
use paddock_dialects::registry;
use paddock_ops::{approval, audit, command};
use paddock_types::error::Result;
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_types::request::{Access, Command, Request};
use paddock_types::response::{Change, Ran, Response};
use paddock_vfs::Filesystem;
use paddock_workspace::Workspace;

const OPERATION: &str = "run a command in";
/// Maximum number of changes that a result lists.
const MAX_PRINTED: usize = 100;

/// Returns the command that a call requests from the host: `get-request` of `wit/commands.wit`.
///
/// Returns `None` if the tool is unknown or does not run commands, and the outcome if the call fails before the host is
/// needed.
pub fn requested_command(
    fs: &dyn Filesystem,
    policy: &Policy,
    dialect: &str,
    name: &str,
    arguments: &str,
) -> Option<std::result::Result<Command, Box<Outcome>>> {
    registry::find(dialect).ok()?.tool(name).filter(|tool| tool.traits.runs())?;
    let call = match Call::decode(dialect, name, arguments, &|| policy.commands.enabled) {
        Ok(call) => call,
        Err(outcome) => return Some(Err(outcome)),
    };
    // Commands may run in a read-only workspace.
    Some(match paddock_ops::open(fs, policy, Access::Read) {
        Ok(workspace) => {
            settle(&workspace, &call.request).map_err(|error| Box::new(call.outcome(Some(&workspace), Err(error))))
        }
        Err(error) => {
            let accessed_paths = audit::requested_paths(fs, policy, &call.request, Some(error.code));
            Err(Box::new(Outcome { accessed_paths, ..call.outcome(None, Err(error)) }))
        }
    })
}

/// Renders the result of a command with all its changes: `answer` of `wit/commands.wit`.
pub fn answer(
    fs: &dyn Filesystem,
    policy: &Policy,
    (dialect, name, arguments): (&str, &str, &str),
    result: Result<Response>,
    changes: Vec<Change>,
) -> Outcome {
    let call = match Call::decode(dialect, name, arguments, &|| policy.commands.enabled) {
        Ok(call) => call,
        Err(outcome) => return Outcome { changes, ..*outcome },
    };
    let result = result.map(|response| match response {
        Response::Ran(ran) => Response::Ran(Ran { total_changes: changes.len() as u64, ..listed(ran, &changes) }),
        response => response,
    });
    match paddock_ops::open(fs, policy, Access::Read) {
        Ok(workspace) => {
            changes.into_iter().for_each(|change| workspace.changed(change));
            call.outcome(Some(&workspace), result)
        }
        // The command has run, so its result is rendered even without a workspace.
        Err(_) => Outcome { changes, ..call.outcome(None, result) },
    }
}

/// Adds the changes to the result, up to the maximum that it lists.
fn listed(mut ran: Ran, changes: &[Change]) -> Ran {
    ran.changes = changes.iter().take(MAX_PRINTED).cloned().collect();
    ran
}

/// Checks a command and returns it with an existing working directory, time within the limits, and approval.
fn settle(workspace: &Workspace<'_>, request: &Request) -> Result<Command> {
    let Request::Command(command) = request else {
        return Err(paddock_dialects::dialect::answer::CallContext::mixed_up());
    };
    let limits = &workspace.policy.commands;
    if !limits.enabled {
        return Err(command::not_enabled());
    }
    let mut command = command.clone();
    match &mut command {
        Command::Run(run) => {
            run.workdir = workspace.resolve_dir(&run.workdir, OPERATION)?.0.path;
            run.timeout_ms = run.timeout_ms.min(limits.max_time_ms);
        }
        Command::Start(start) => {
            start.workdir = workspace.resolve_dir(&start.workdir, OPERATION)?.0.path;
            start.yield_ms = start.yield_ms.min(limits.max_time_ms);
        }
        Command::Write(input) => input.yield_ms = input.yield_ms.min(limits.max_time_ms),
        Command::Sessions | Command::Kill(_) => {}
    }
    let settled = Request::Command(command);
    approval::check(workspace, &settled)?;
    match settled {
        Request::Command(command) => Ok(command),
        _ => Err(paddock_dialects::dialect::answer::CallContext::mixed_up()),
    }
}
