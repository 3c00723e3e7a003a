//! Workspaces over HTTP: the tools as MCP and as plain JSON, for callers with tokens. On Linux.
//!
//! The layers are `http` (connections, routes and checks of requests), `record` (what is recorded of a request, to
//! `telemetry` and for the status page), `authority` (which rights a token has), and `workspaces` (the workspace of a name,
//! narrowed to these rights). A file configures all of them; the guide describes it.
//!
//! ```no_run
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let server = paddock::serve::Server::open("serve.yaml")?;
//! let listener = tokio::net::TcpListener::bind(server.address()).await?;
//! server.serve(listener, async { let _ = tokio::signal::ctrl_c().await; }).await;
//! # Ok(())
//! # }
//! ```

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;

use crate::error::Error;
use crate::mcp::MAX_SUBSCRIPTION_THREADS;
use crate::policy::Configuration;

mod authority;
mod config;
mod descriptors;
mod http;
mod journals;
mod limits;
mod location;
mod lock_check;
mod name;
mod narrowing;
mod opened;
mod recent;
mod record;
mod recovery;
mod refusal;
mod related;
mod served;
mod state_dirs;
mod target;
mod telemetry;
mod workspaces;

pub use authority::{SigningKey, TokenError, hash, narrow};

/// Number of threads that a system can have: Linux gives them 22-bit ids.
const MAX_THREADS: usize = 1 << 22;

/// A server of workspaces.
#[must_use = "a server does nothing until `serve` is called"]
pub struct Server {
    address: SocketAddr,
    app: http::App,
}

impl Server {
    /// Reads the configuration and opens the directories of its workspaces.
    ///
    /// # Errors
    ///
    /// [`Error::PolicySource`] with the line of a wrong setting, and the errors of opening a workspace.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, Error> {
        let file = Configuration::read(file.as_ref())?;
        let settings: config::Settings = file.values("tokens")?;
        let workspaces = workspaces::Workspaces::new(&file, &settings)?;
        let authority = authority::Authority::new(&file, &settings)?;
        let recent = authority.has_operator().then(recent::Recent::default);
        let telemetry = Arc::new(telemetry::Telemetry::new(&file, &settings)?);
        let recorder = record::Recorder { telemetry, recent };
        let app = http::App::new(&file, &settings, workspaces, authority, recorder)?;
        Ok(Self { address: settings.listen, app })
    }

    /// Returns the address that the configuration names.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of threads that have to be able to block at the same time, for
    /// [`max_blocking_threads`](tokio::runtime::Builder::max_blocking_threads) of the runtime: one for each call, those that
    /// check subscriptions, and one that checks the locks of the state directory. A runtime with more of them may start more
    /// threads than calls run, because it starts one whenever another is not yet free.
    pub fn max_blocking_threads(&self) -> usize {
        self.app.max_calls().saturating_add(MAX_SUBSCRIPTION_THREADS + 1).min(MAX_THREADS)
    }

    /// Serves requests until `shutdown` completes. Then the server accepts no further request, and returns when the
    /// running calls have ended, or have been cancelled after the time that the configuration sets.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        self.app.serve(listener, shutdown).await;
    }
}

/// Locks a value. One that a thread held when it panicked is used as it is.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
