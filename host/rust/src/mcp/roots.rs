//! Roots of a client that uses an older protocol revision. In the `mcp-filesystem` dialect they replace the server's
//! own roots, as in the server that this dialect imitates; access rights and policy remain those of the server.

#![expect(deprecated, reason = "deprecated in the newest revision, and what clients of older ones have")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{Peer, RequestContext};
use tokio::sync::Mutex;
use url::Url;

use super::is_stateless;
use crate::Workspace;

/// Name of the dialect in which the client's roots apply, alone or in a list.
const DIALECT: &str = "mcp-filesystem";

/// Maximum time for a client's answer to the request for its roots.
const PATIENCE: Duration = Duration::from_secs(10);

/// Function that opens a workspace over the client's roots, in place of the server's own.
pub(super) type Open = Box<dyn Fn(Vec<PathBuf>) -> Option<Workspace> + Send + Sync>;

/// Workspaces of a session: the server's own, and the one over the client's roots.
pub(super) struct SessionWorkspace {
    pub(super) own: Workspace,
    open: Open,
    /// Workspace over the client's roots, once the client was asked for them; the own workspace if none of them can be
    /// opened.
    client_workspace: Mutex<Option<Workspace>>,
    /// Whether the client has reported that its roots changed.
    is_stale: AtomicBool,
}

impl SessionWorkspace {
    pub(super) fn new(own: Workspace, open: Open) -> Self {
        Self { own, open, client_workspace: Mutex::default(), is_stale: AtomicBool::new(false) }
    }

    /// Returns the workspace for a call.
    pub(super) async fn workspace(&self, dialect: &str, context: &RequestContext<RoleServer>) -> Workspace {
        if !paddock_policy::includes(dialect, DIALECT) || !has_roots(context) {
            return self.own.clone();
        }
        let mut client_workspace = self.client_workspace.lock().await;
        if self.is_stale.swap(false, Ordering::AcqRel) {
            *client_workspace = None;
        }
        if let Some(workspace) = &*client_workspace {
            return workspace.clone();
        }
        let roots = roots(&context.peer).await;
        let workspace = if roots.is_empty() { None } else { (self.open)(roots) };
        client_workspace.insert(workspace.unwrap_or_else(|| self.own.clone())).clone()
    }

    /// Makes the next call ask the client for its roots again. This function never waits, because a client may send any
    /// number of notifications.
    pub(super) fn changed(&self) {
        self.is_stale.store(true, Ordering::Release);
    }
}

fn has_roots(context: &RequestContext<RoleServer>) -> bool {
    !is_stateless(context) && context.client_capabilities().is_some_and(|client| client.roots.is_some())
}

/// Asks the client for its roots and returns those that are existing directories.
async fn roots(peer: &Peer<RoleServer>) -> Vec<PathBuf> {
    let Ok(Ok(listed)) = tokio::time::timeout(PATIENCE, peer.list_roots()).await else { return Vec::new() };
    let directory = |uri: &str| Url::parse(uri).ok()?.to_file_path().ok();
    listed.roots.iter().filter_map(|root| directory(&root.uri)).filter(|path| path.is_dir()).collect()
}
