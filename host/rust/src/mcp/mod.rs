//! Server of the Model Context Protocol over any stream of bytes, for the protocol revisions that start with
//! `initialize` and for the stateless revision 2026-07-28.
//!
//! Messages are lines of JSON, as in the protocol's stdio transport. The stream can be the standard input and output of
//! the process, a pipe, a socket, or memory:
//!
//! ```no_run
//! use paddock::{Workspace, mcp};
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let log = mcp::Log::default();
//! let workspace = Workspace::builder().root("/path/to/project").on_event(log.listener()).build()?;
//! let server = mcp::Server::new(workspace).with_log(log).with_dialect("anthropic");
//! server.serve(tokio::io::stdin(), tokio::io::stdout()).await?;
//! # Ok(())
//! # }
//! ```

use std::path::PathBuf;

use paddock_protocol::envelope::too_long;
use rmcp::model::ProtocolVersion;
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::events::Listener;
use crate::options::DIALECT;
use crate::workspace::Workspace;

mod ahead;
mod batch;
mod convert;
mod elicitation;
mod ending;
mod handler;
mod lines;
mod load;
mod log;
mod message;
mod params;
mod resources;
mod roots;
mod splice;
mod subscriptions;
mod wire;

use convert::StructuredContent;
use handler::Handler;
pub(crate) use handler::Shared;
pub use log::Log;
#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) use message::{Kind, kind, repeated_id};
use roots::Open;
use splice::Placeholders;
#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) use subscriptions::MAX_THREADS as MAX_SUBSCRIPTION_THREADS;
#[cfg(all(target_os = "linux", feature = "serve"))]
pub(crate) use subscriptions::Polls;
use wire::Wire;

/// An MCP server for one client, whose tool calls are calls of a workspace.
#[must_use = "a server does nothing until `serve` is called"]
pub struct Server {
    workspace: Workspace,
    dialect: String,
    log: Log,
    open: Open,
    shared: Shared,
    /// Whether answers have text alone; `None` if this depends on the client.
    is_text_only: Option<bool>,
}

/// Failure of the connection to a client.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve the MCP client")]
pub struct Error(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Server {
    /// Returns a server of the `paddock` dialect, which sends no log messages and ignores the roots that a client names.
    pub fn new(workspace: Workspace) -> Self {
        let (dialect, log, shared) = (DIALECT.to_owned(), Log::default(), Shared::default());
        Self { workspace, dialect, log, open: Box::new(|_| None), shared, is_text_only: None }
    }

    /// Sets the dialect of the tools.
    pub fn with_dialect(mut self, name: impl Into<String>) -> Self {
        self.dialect = name.into();
        self
    }

    /// Sets whether answers have text alone, without the result as JSON (`structuredContent`), and tools no output schemas.
    /// By default, this depends on the client that [`Self::serve`] serves: some clients, as
    /// [`gives_model_json`](paddock_protocol::clients::gives_model_json) knows them, give the model this JSON instead of
    /// the text, which is written for models.
    pub fn with_text_only(mut self, is_text_only: bool) -> Self {
        self.is_text_only = Some(is_text_only);
        self
    }

    /// Sends log messages to a client that asks for them. [`Log::listener`] must listen to the events of every
    /// workspace that is served.
    pub fn with_log(mut self, log: Log) -> Self {
        self.log = log;
        self
    }

    /// Sets the state that the server shares with other servers of the same workspace and dialect.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    pub(crate) fn with_shared(mut self, shared: Shared) -> Self {
        self.shared = shared;
        self
    }

    /// Returns the handler of requests, for a transport of the `rmcp` library.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    pub(crate) fn into_handler(self, has_resources: bool) -> impl rmcp::ServerHandler {
        let session = roots::SessionWorkspace::new(self.workspace, self.open);
        let structured = StructuredContent::Parsed.unless(self.is_text_only == Some(true));
        let handler = Handler::new(session, self.dialect, structured, self.log, self.shared);
        if has_resources { handler } else { handler.without_resources() }
    }

    /// Sets the function that opens a workspace over the client's roots. Only the dialect `mcp-filesystem` uses them.
    /// If the function returns `None`, calls are made in the server's own workspace.
    pub fn with_client_roots(
        mut self,
        open: impl Fn(Vec<PathBuf>) -> Option<Workspace> + Send + Sync + 'static,
    ) -> Self {
        self.open = Box::new(open);
        self
    }

    /// Serves the client until `input` ends and every answer has been written or given up. Needs a tokio runtime with
    /// time enabled.
    ///
    /// # Errors
    ///
    /// If the client violates the protocol before the first call, or the connection breaks. It is no error if the
    /// client disconnects before it has sent anything.
    pub async fn serve<R, W>(self, input: R, output: W) -> Result<(), Error>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let placeholders = Placeholders::default();
        let session = roots::SessionWorkspace::new(self.workspace, self.open);
        let too_long = too_long(&self.dialect);
        let structured = StructuredContent::Placeholder(placeholders.clone()).unless(self.is_text_only == Some(true));
        let handler = Handler::new(session, self.dialect, structured, self.log, self.shared);
        let handler = if self.is_text_only.is_none() { handler.with_text_for_models() } else { handler };
        let wire = Wire::new(placeholders, input, output, too_long);
        let finished = wire.finished();
        match handler.serve(wire).await {
            Ok(service) => tokio::select! {
                ended = service.waiting() => ended.map(|_| ()).map_err(|cause| Error(cause.into())),
                // The `rmcp` library would wait for subscriptions, which only the client could have ended.
                () = finished.notified() => Ok(()),
            },
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(cause) => Err(Error(cause.into())),
        }
    }
}

/// Returns the listener for the calls of a request that its transport has added to the request, if it has.
fn listener(context: &RequestContext<RoleServer>) -> Option<Listener> {
    #[cfg(all(target_os = "linux", feature = "serve"))]
    let parts = context.extensions.get::<axum::http::request::Parts>();
    #[cfg(all(target_os = "linux", feature = "serve"))]
    return parts.and_then(|parts| parts.extensions.get::<Listener>()).cloned();
    #[cfg(not(all(target_os = "linux", feature = "serve")))]
    {
        let _ = context;
        None
    }
}

/// Returns whether a request belongs to the protocol revision without `initialize` or to a later one.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}
