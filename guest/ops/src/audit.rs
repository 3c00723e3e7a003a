//! The paths that a call read or changed, for the host's audit log: without content, and without paths hidden by
//! `.agentignore`.

use paddock_types::accessed_paths::{AccessedPaths, Written};
use paddock_types::error::{Code, Result};
use paddock_types::policy::Policy;
use paddock_types::request::Request;
use paddock_types::response::{Change, Response, Transfer};
use paddock_vfs::Filesystem;
use paddock_workspace::Workspace;

use crate::operation;

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

/// The record of a call while its answer is read.
pub struct Recorder<'w> {
    workspace: &'w Workspace<'w>,
    /// The record.
    pub record: AccessedPaths,
}

impl<'w> Recorder<'w> {
    /// Starts a record with the changes that the call has made.
    fn new(workspace: &'w Workspace<'w>, operation: &'static str) -> Self {
        let changes = workspace.changes();
        let written = changes.iter().filter_map(Written::from_change).collect();
        Self { workspace, record: AccessedPaths { operation, changes, written, ..AccessedPaths::default() } }
    }

    /// Adds a path of an answer. It is not hidden by `.agentignore`, since a call that names such a path fails.
    pub fn add(&mut self, path: &str) {
        self.record.paths.push(path.to_owned());
    }

    /// Adds the path of a part of the call that failed.
    pub fn add_failed(&mut self, path: &str, code: Code) {
        self.add_requested(vec![path.to_owned()], code);
    }

    /// Adds both paths of a copy or a move, and its size.
    pub fn add_transfer(&mut self, transfer: &Transfer) {
        self.add(&transfer.source);
        self.add(&transfer.destination);
        self.measure(transfer.bytes, None);
    }

    /// Adds the path of every change.
    pub fn add_changed(&mut self) {
        self.record.paths.extend(self.record.changes.iter().map(|change| change.path.clone()));
    }

    /// Sets the number of bytes and lines that were read, written or found.
    pub fn measure(&mut self, bytes: u64, lines: Option<u64>) {
        (self.record.bytes, self.record.lines) = (bytes, lines);
    }

    /// Returns the number of bytes that the call wrote.
    pub fn written_bytes(&self) -> u64 {
        self.record.written.iter().map(|file| file.bytes).sum()
    }

    /// Adds the paths that a failed call requested. Each path is resolved, so their number is limited by `max_files`.
    fn add_requested(&mut self, paths: Vec<String>, code: Code) {
        let max = self.workspace.policy.limits.max_files;
        for path in paths {
            let is_full = self.record.paths.len() as u64 >= max;
            if code == Code::Denied || is_full || self.workspace.is_hidden_from_agent(&path) {
                self.record.redacted += 1;
            } else {
                self.record.paths.push(path);
            }
        }
    }
}
