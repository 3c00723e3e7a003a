//! The roots of a client of an older revision. In the `mcp-filesystem` dialect they take the place of the server's own
//! roots, as in the server that this dialect imitates; rights and policy stay the server's own.

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

/// The dialect in which a client's roots count.
const DIALECT: &str = "mcp-filesystem";

/// How long a client may take to name its roots.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a workspace over the roots that a client names, in place of the server's own.
pub(super) type Open = Box<dyn Fn(Vec<PathBuf>) -> Option<Workspace> + Send + Sync>;

/// The workspace in which calls are made.
pub(super) struct SessionWorkspace {
    pub(super) own: Workspace,
    open: Open,
    /// Over the client's roots, once it was asked for them; the own one where it names none that is there.
    asked: Mutex<Option<Workspace>>,
    /// The client has said that its roots changed.
    is_stale: AtomicBool,
}

impl SessionWorkspace {
    pub(super) fn new(own: Workspace, open: Open) -> Self {
        Self { own, open, asked: Mutex::default(), is_stale: AtomicBool::new(false) }
    }

    /// The workspace for a call.
    pub(super) async fn workspace(&self, dialect: &str, context: &RequestContext<RoleServer>) -> Workspace {
        if dialect != DIALECT || !has_roots(context) {
            return self.own.clone();
        }
        let mut asked = self.asked.lock().await;
        if self.is_stale.swap(false, Ordering::AcqRel) {
            *asked = None;
        }
        if let Some(workspace) = &*asked {
            return workspace.clone();
        }
        let roots = roots(&context.peer).await;
        let workspace = if roots.is_empty() { None } else { (self.open)(roots) };
        asked.insert(workspace.unwrap_or_else(|| self.own.clone())).clone()
    }

    /// Asks the client again, at the next call. Never waits, since a client may send any number of notifications.
    pub(super) fn changed(&self) {
        self.is_stale.store(true, Ordering::Release);
    }
}

fn has_roots(context: &RequestContext<RoleServer>) -> bool {
    !is_stateless(context) && context.client_capabilities().is_some_and(|client| client.roots.is_some())
}

/// The directories that the client names, of those that are there.
async fn roots(peer: &Peer<RoleServer>) -> Vec<PathBuf> {
    let Ok(Ok(listed)) = tokio::time::timeout(PATIENCE, peer.list_roots()).await else { return Vec::new() };
    let directory = |uri: &str| Url::parse(uri).ok()?.to_file_path().ok();
    listed.roots.iter().filter_map(|root| directory(&root.uri)).filter(|path| path.is_dir()).collect()
}
