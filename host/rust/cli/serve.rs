//! `paddock serve`: serves workspaces over HTTP.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use paddock::serve::{Server, hash};
use tokio::net::TcpListener;

/// Maximum time for which the process waits for the threads of cancelled calls.
const GRACE: Duration = Duration::from_secs(2);

/// Number of random bytes of a new token.
const TOKEN_BYTES: usize = 32;

/// Serve workspaces over HTTP, as MCP and as plain JSON, to callers with tokens
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock serve --new-token
  paddock serve --config serve.yaml

The guide's page `server.md` describes the file. The address is printed on standard error when the server accepts
connections. SIGTERM and SIGINT end the server after the running calls have ended.")]
pub(crate) struct Args {
    /// YAML, TOML or JSON file with the workspaces, the tokens and the limits
    #[arg(long, value_name = "FILE", required_unless_present = "new_token")]
    config: Option<PathBuf>,

    /// Print a new random token, and its hash for the file
    #[arg(long, conflicts_with = "config")]
    new_token: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Some(config) = &args.config else { return new_token() };
    let server = Server::open(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
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

fn new_token() -> anyhow::Result<ExitCode> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let token = format!("pdk_{digits}");
    let mut stdout = std::io::stdout();
    writeln!(stdout, "token: {token}\nsha256: {}", hash(&token))?;
    Ok(ExitCode::SUCCESS)
}
