//! Workspaces that are open.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::Workspace;
use crate::mcp::{self, Polls};

/// Maximum number of dialects of one workspace whose tools stay in memory.
const MAX_DIALECTS: usize = 8;

/// An open workspace, and the state that its MCP clients share.
pub(super) struct Served {
    pub(super) workspace: Workspace,
    log: mcp::Log,
    /// The state that the clients of each dialect share.
    shared: Mutex<HashMap<String, mcp::Shared>>,
    polls: Polls,
}

impl Served {
    pub(super) fn new(workspace: Workspace, log: mcp::Log, polls: Polls) -> Self {
        Self { workspace, log, shared: Mutex::default(), polls }
    }

    /// Returns an MCP server for one client.
    pub(super) fn server(&self, dialect: &str) -> mcp::Server {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.len() >= MAX_DIALECTS && !shared.contains_key(dialect) {
            shared.clear();
        }
        let shared = shared.entry(dialect.to_owned()).or_insert_with(|| mcp::Shared::new(self.polls.clone())).clone();
        let server = mcp::Server::new(self.workspace.clone()).with_dialect(dialect);
        server.with_log(self.log.for_client()).with_shared(shared)
    }
}
