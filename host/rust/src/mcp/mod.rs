//! The Model Context Protocol over standard input and output: both the revisions
//! that start with `initialize` and the stateless one of 2026-07-28.

use std::process::ExitCode;
use std::time::Duration;

use paddock::{Builder, Workspace};
use rmcp::ServiceExt;

mod asking;
mod convert;
mod log;
mod server;
mod splice;

/// How long a call may go on after the client has gone.
const GRACE: Duration = Duration::from_secs(1);

/// Serves until standard input closes.
pub(crate) fn run(builder: Builder, dialect: &str) -> anyhow::Result<ExitCode> {
    let log = log::Log::default();
    let workspace = builder.on_event(log.listener()).build()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(serve(workspace, dialect.to_owned(), log));
    // Standard input is read on a thread that nothing can stop.
    runtime.shutdown_timeout(GRACE);
    result.map(|()| ExitCode::SUCCESS)
}

async fn serve(workspace: Workspace, dialect: String, log: log::Log) -> anyhow::Result<()> {
    let marks = splice::Marks::default();
    let (input, output) = rmcp::transport::stdio();
    let server = server::Server::new(workspace, dialect, marks.clone(), log);
    match server.serve((input, splice::Splice::new(marks, output))).await {
        Ok(service) => service.waiting().await.map(|_| ()).map_err(Into::into),
        // A client that goes before it has said anything wanted nothing.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}
