//! `paddock serve`: serves workspaces over HTTP.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use paddock::serve::Server;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::TcpListener;

/// Maximum time for which the process waits for the threads of cancelled calls.
const GRACE: Duration = Duration::from_secs(2);

/// Serve workspaces over HTTP, as MCP and as plain JSON, to callers with tokens
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  paddock serve --config serve.yaml

The guide's page `server.md` describes the file, and `paddock token new` creates a token. The
address is printed on standard error when the server accepts connections. SIGTERM and SIGINT end the
server when the running calls have ended, or were cancelled after `limits.shutdown_ms`.")]
pub(crate) struct Args {
    /// YAML, TOML or JSON file with the workspaces, the tokens and the limits
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    permit_open_files()?;
    let server = Server::open(&args.config)?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).max_blocking_threads(server.max_blocking_threads()).enable_all().build()?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(server.address()).await?;
        eprintln!("paddock: serving http://{}", listener.local_addr()?);
        server.serve(listener, super::mcp::termination_signal()).await;
        Ok::<(), std::io::Error>(())
    });
    runtime.shutdown_timeout(GRACE);
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Raises the number of files that the process may open to the maximum that the system permits: the usual limit of
/// 1,024 is made for programs that use `select`, and an open workspace takes several.
fn permit_open_files() -> std::io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}
