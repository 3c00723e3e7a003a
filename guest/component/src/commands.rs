//! Commands, which the host runs: what a call asks of it, what a command may do
//! at a path, what it changed, and how a dialect tells all that.

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

const VERB: &str = "run a command in";
/// Changes that a result lists.
const MAX_SHOWN: usize = 100;

/// Returns the command that a call requests: `get-request` of `wit/commands.wit`.
pub fn requested_command(
    fs: &dyn Filesystem,
    policy: &Policy,
    dialect: &str,
    name: &str,
    arguments: &str,
) -> Option<std::result::Result<Command, Box<Outcome>>> {
    registry::find(dialect).ok()?.tool(name).filter(|tool| tool.effect.runs())?;
    let call = match Call::decode(dialect, name, arguments) {
        Ok(call) => call,
        Err(outcome) => return Some(Err(outcome)),
    };
    // A command may run where nothing may be changed.
    Some(match paddock_ops::open(fs, policy, Access::Read) {
        Ok(workspace) => {
            settle(&workspace, &call.request).map_err(|error| Box::new(call.outcome(Some(&workspace), Err(error))))
        }
        Err(error) => {
            let touched = audit::requested_paths(fs, policy, &call.request, Some(error.code));
            Err(Box::new(Outcome { touched, ..call.outcome(None, Err(error)) }))
        }
    })
}

/// Renders the result of a command in the dialect, with its changes: `answer` of `wit/commands.wit`.
pub fn answer(
    fs: &dyn Filesystem,
    policy: &Policy,
    (dialect, name, arguments): (&str, &str, &str),
    done: Result<Response>,
    changes: Vec<Change>,
) -> Outcome {
    let call = match Call::decode(dialect, name, arguments) {
        Ok(call) => call,
        Err(outcome) => return Outcome { changes, ..*outcome },
    };
    let done = done.map(|response| match response {
        Response::Ran(ran) => Response::Ran(Ran { total_changes: changes.len() as u64, ..listed(ran, &changes) }),
        response => response,
    });
    match paddock_ops::open(fs, policy, Access::Read) {
        Ok(workspace) => {
            changes.into_iter().for_each(|change| workspace.changed(change));
            call.outcome(Some(&workspace), done)
        }
        // It has run all the same.
        Err(_) => Outcome { changes, ..call.outcome(None, done) },
    }
}

/// The result with as many of the changes as it lists.
fn listed(mut ran: Ran, changes: &[Change]) -> Ran {
    ran.changes = changes.iter().take(MAX_SHOWN).cloned().collect();
    ran
}

/// What the host is to do, if it may: in a directory that is there, within the limits, approved.
fn settle(workspace: &Workspace<'_>, request: &Request) -> Result<Command> {
    let Request::Command(command) = request else { return Err(paddock_dialects::answer::CallContext::mixed_up()) };
    let limits = &workspace.policy.commands;
    if !limits.enabled {
        return Err(command::not_enabled());
    }
    let mut command = command.clone();
    match &mut command {
        Command::Run(run) => {
            run.workdir = workspace.resolve_dir(&run.workdir, VERB)?.0.path;
            run.timeout_ms = run.timeout_ms.min(limits.max_time_ms);
        }
        Command::Start(start) => {
            start.workdir = workspace.resolve_dir(&start.workdir, VERB)?.0.path;
            start.yield_ms = start.yield_ms.min(limits.max_time_ms);
        }
        Command::Write(input) => input.yield_ms = input.yield_ms.min(limits.max_time_ms),
        Command::Sessions | Command::Kill(_) => {}
    }
    let settled = Request::Command(command);
    approval::check(workspace, &settled)?;
    match settled {
        Request::Command(command) => Ok(command),
        _ => Err(paddock_dialects::answer::CallContext::mixed_up()),
    }
}
