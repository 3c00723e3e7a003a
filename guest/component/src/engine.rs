//! Performs one call, from names and JSON to an outcome: decode, check the policy, run, render. Every failure is part
//! of the outcome.

use paddock_dialects::call::Call;
use paddock_ops::{approval, audit};
use paddock_types::accessed_paths::AccessedPaths;
use paddock_types::error::Result;
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_types::request::Request;
use paddock_types::response::Response;
use paddock_vfs::Filesystem;
use paddock_workspace::Workspace;

/// Calls the tool `name` of a dialect with `arguments`, a JSON object.
pub fn call(fs: &dyn Filesystem, policy: &Policy, dialect: &str, name: &str, arguments: &str) -> Outcome {
    let call = match Call::decode(dialect, name, arguments, &|| policy.commands.enabled) {
        Ok(call) => call,
        Err(outcome) => return *outcome,
    };
    execute(fs, policy, &call)
}

/// Performs a decoded call.
pub fn execute(fs: &dyn Filesystem, policy: &Policy, call: &Call) -> Outcome {
    match paddock_ops::open(fs, policy, call.request.access()) {
        Ok(mut workspace) => {
            workspace.confined_to = call.confined_to();
            call.outcome(Some(&workspace), perform(&workspace, &call.request))
        }
        Err(error) => {
            let accessed_paths = audit::requested_paths(fs, policy, &call.request, Some(error.code));
            Outcome { accessed_paths, ..call.outcome(None, Err(error)) }
        }
    }
}

/// Performs a typed request and returns its accessed paths.
pub fn run(fs: &dyn Filesystem, policy: &Policy, request: &Request) -> (Result<Response>, Option<AccessedPaths>) {
    match paddock_ops::open(fs, policy, request.access()) {
        Ok(workspace) => {
            let answer = perform(&workspace, request);
            let accessed_paths = audit::accessed_paths(&workspace, request, &answer);
            (answer, accessed_paths)
        }
        Err(error) => {
            let accessed_paths = audit::requested_paths(fs, policy, request, Some(error.code));
            (Err(error), accessed_paths)
        }
    }
}

/// Executes a request that needs no approval or has been approved.
fn perform(workspace: &Workspace<'_>, request: &Request) -> Result<Response> {
    approval::check(workspace, request)?;
    paddock_ops::run(workspace, request)
}
