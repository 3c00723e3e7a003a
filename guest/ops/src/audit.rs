//! The paths that a call read or changed, for the host's audit log: without content, and without paths hidden by
//! `.agentignore`.

use paddock_types::accessed_paths::{AccessedPaths, Written};
use paddock_types::error::{Code, Result};
use paddock_types::policy::Policy;
use paddock_types::request::Request;
use paddock_types::response::{Change, Response};
use paddock_vfs::Filesystem;
use paddock_workspace::Workspace;

use crate::operation;
use crate::recorder::Recorder;

/// Returns the paths that a call with this answer accessed; `None` if the host keeps no audit log.
pub fn accessed_paths(
    workspace: &Workspace<'_>,
    request: &Request,
    answer: &Result<Response>,
) -> Option<AccessedPaths> {
    if !workspace.policy.host.records {
        return None;
    }
    let operation = operation::of(request);
    let mut recorder = Recorder::new(workspace, operation.name());
    match answer {
        Ok(response) => {
            recorder.record.truncated = response.truncated();
            operation.record(response, &mut recorder);
        }
        Err(error) => recorder.add_requested(operation.requested_paths(), error.code),
    }
    Some(recorder.record)
}

/// Returns the paths that a command or the commit of an overlay changed; `None` if the host keeps no audit log.
pub fn changed_paths(policy: &Policy, operation: &'static str, changes: &[Change]) -> Option<AccessedPaths> {
    let written: Vec<_> = changes.iter().filter_map(Written::from_change).collect();
    policy.host.records.then(|| AccessedPaths {
        operation,
        paths: changes.iter().map(|change| change.path.clone()).collect(),
        bytes: written.iter().map(|file| file.bytes).sum(),
        changes: changes.to_vec(),
        written,
        ..AccessedPaths::default()
    })
}

/// Returns the paths that a request names, for a call that was refused or ended without an answer.
pub fn requested_paths(
    fs: &dyn Filesystem,
    policy: &Policy,
    request: &Request,
    refused: Option<Code>,
) -> Option<AccessedPaths> {
    if !policy.host.records {
        return None;
    }
    let operation = operation::of(request);
    let paths = operation.requested_paths();
    match Workspace::open(fs, policy) {
        Ok(workspace) => {
            let mut recorder = Recorder::new(&workspace, operation.name());
            recorder.add_requested(paths, refused.unwrap_or(Code::Io));
            Some(recorder.record)
        }
        // Without the rules of `.agentignore`, any path may be hidden.
        Err(_) => {
            let (operation, redacted) = (operation.name(), paths.len() as u64);
            Some(AccessedPaths { operation, redacted, ..AccessedPaths::default() })
        }
    }
}
