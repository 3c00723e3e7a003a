//! The Model Context Protocol over standard input and output: both the revisions
//! that start with `initialize` and the stateless one of 2026-07-28.

use std::time::Duration;

use paddock::Workspace;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServiceExt};

mod asking;
mod convert;
mod lines;
mod load;
mod log;
mod message;
mod resources;
mod roots;
mod server;
mod splice;
mod subscriptions;
mod wire;

pub(crate) use log::Log;

/// How long a call may go on after the client has gone.
const GRACE: Duration = Duration::from_secs(1);

/// Whether a request is of the revision without `initialize`, or a later one.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Serves a workspace in a dialect until standard input closes or a signal ends the process. `log` has to listen to the
/// events of every workspace that is served.
pub(crate) fn run(workspace: Workspace, open: roots::Open, dialect: String, log: Log) -> anyhow::Result<()> {
    let place = roots::Place::new(workspace, open);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(async {
        tokio::select! {
            served = serve(place, dialect, log) => served,
            () = told_to_end() => Ok(()),
        }
    });
    // Standard input is read on a thread that nothing can stop.
    runtime.shutdown_timeout(GRACE);
    result
}

/// Waits for a signal to end, so that sessions are ended and recorded first.
async fn told_to_end() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = terminate.recv() => return,
            _ = tokio::signal::ctrl_c() => return,
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

async fn serve(place: roots::Place, dialect: String, log: Log) -> anyhow::Result<()> {
    let marks = splice::Marks::default();
    let (input, output) = rmcp::transport::stdio();
    let server = server::Server::new(place, dialect, marks.clone(), log);
    let wire = wire::Wire::new(marks, input, output);
    let finished = wire.finished();
    match server.serve(wire).await {
        Ok(service) => tokio::select! {
            ended = service.waiting() => ended.map(|_| ()).map_err(Into::into),
            // The protocol's library would wait for subscriptions, which only the client could have ended.
            () = finished.notified() => Ok(()),
        },
        // A client that goes before it has said anything wanted nothing.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}
