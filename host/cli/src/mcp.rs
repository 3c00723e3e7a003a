//! `paddock mcp`: serves MCP over standard input and output.

use std::process::ExitCode;
use std::time::Duration;

use paddock::mcp::{Log, Server};

use super::workspace;

/// Maximum time that calls may continue after the client has closed the connection.
const GRACE: Duration = Duration::from_secs(1);

/// Serve the tools to an MCP client over standard input and output
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock mcp --root ~/project
  paddock mcp --root ~/project --root ~/notes:ro")]
pub(crate) struct Args {
    #[command(flatten)]
    workspace: workspace::Options,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = args.workspace;
    let log = Log::default();
    let listener = log.listener();
    let workspace = options.build(options.builder()?.on_event(listener.clone()))?;
    let (own, dialect, memory) = (workspace.clone(), options.dialect.clone(), options.memory.clone());
    let open = move |roots| match options.is_elsewhere() {
        // A client's roots are directories of this machine, which a workspace elsewhere does not use.
        true => Some(own.clone()),
        false => options.with_roots(roots).builder().ok()?.on_event(listener.clone()).build().ok(),
    };
    let server = Server::new(workspace.clone()).with_dialect(dialect).with_log(log).with_client_roots(open);
    let result = serve(server);
    workspace.end_sessions();
    memory.save(&workspace)?;
    result.map(|()| ExitCode::SUCCESS)
}

/// Serves until standard input closes or a signal ends the process.
fn serve(server: Server) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(async {
        tokio::select! {
            served = server.serve(tokio::io::stdin(), tokio::io::stdout()) => served,
            () = told_to_end() => Ok(()),
        }
    });
    // A thread blocks on standard input and cannot be interrupted.
    runtime.shutdown_timeout(GRACE);
    Ok(result?)
}

/// Waits for a signal that ends the process, so that sessions are ended and recorded first.
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
