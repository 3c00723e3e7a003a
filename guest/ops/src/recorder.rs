//! The record of a call for the audit log while its answer is read.

use paddock_types::accessed_paths::{AccessedPaths, Written};
use paddock_types::error::Code;
use paddock_types::response::Transfer;
use paddock_workspace::Workspace;

/// The record of a call while its answer is read.
pub struct Recorder<'w> {
    workspace: &'w Workspace<'w>,
    /// Accessed paths so far.
    pub record: AccessedPaths,
}

impl<'w> Recorder<'w> {
    /// Starts a record with the changes that the call has made.
    pub fn new(workspace: &'w Workspace<'w>, operation: &'static str) -> Self {
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
    pub fn add_requested(&mut self, paths: Vec<String>, code: Code) {
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
